// A program of others as a process that works when a test asks it to.
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CoreV1Api } from '@kubernetes/client-node';
import { execa } from 'execa';
import { until } from '../../fixtures/until.ts';
import type { ControlPlane } from '../control-plane.ts';
import type { Lifetime } from '../fixture.ts';

export interface OtherProgram {
  /** What its work gives; rejects with what it fails with, or with all that it has written where it ends. */
  work(): Promise<unknown>;
}

/** Starts the file of programs/ for a package, with no other variables. It ends with the test. */
export function startOther(life: Lifetime, name: string, env: Readonly<Record<string, string>>): OtherProgram {
  const file = fileURLToPath(new URL(`./programs/${name.split('/').at(-1)}.ts`, import.meta.url));
  const child = execa(process.execPath, [file], { env, extendEnv: false, stdin: 'pipe', reject: false });
  life.after(() => child.kill('SIGKILL'));
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    work: async () => {
      child.stdin.write('\n');
      const { value: line, done } = await answers.next();
      if (done) throw new Error(`${name} has ended: ${(await child).stderr}`);
      const { value, error } = JSON.parse(line);
      if (error !== undefined) throw new Error(`${name}: ${error}`);
      return value;
    },
  };
}

/** What each says, or what it fails with. */
export async function askAll(started: readonly { readonly name: string; readonly program: OtherProgram }[]) {
  const said = started.map(async ({ name, program }) => [name, await program.work().catch(messageOf)] as const);
  return new Map(await Promise.all(said));
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : error);

/** Creates a ConfigMap, and waits until the operator holds it. */
export async function isHeld(t: TestContext, plane: ControlPlane): Promise<string> {
  const core = plane.admin.makeApiClient(CoreV1Api);
  const namespace = 'default';
  const body = { metadata: { generateName: 'held-' } };
  const { metadata: { name = '' } = {} } = await core.createNamespacedConfigMap({ namespace, body });
  const finalizers = async () => (await core.readNamespacedConfigMap({ namespace, name })).metadata?.finalizers ?? [];
  await until(t, async () => (await finalizers()).includes('example.dev/held'));
  return 'holds';
}
