/** `use NAME`: makes the context of a ClusterProfile the current one, in the kubeconfig that kubectl reads. */
import { existsSync, readFileSync } from 'node:fs';
import { errnoOf } from '../../util/errno.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { kubeconfigPaths } from '../input.ts';
import { chooseContext } from '../kubeconfig/context-name.ts';
import { contextsOf, MergeProblem, mergeKubeconfig } from '../kubeconfig/merge.ts';
import { FileProblem, updateFile } from '../kubeconfig/update-file.ts';
import type { Call } from '../verb.ts';

export async function run({ args, options, terminal, program, signal }: Call): Promise<ExitCode> {
  const [asked = ''] = args;
  const files = kubeconfigPaths(options.text('kubeconfig'));
  const found = files.filter((file) => existsSync(file));
  const contexts = found.flatMap(contextsAt);
  if (contexts.length === 0) {
    const message = `${files.join(', ')}: there is no context that this program wrote`;
    throw new Failure(exitCodes.notFound, message, `${program} kubeconfig --merge ${files[0] ?? 'FILE'} writes some`);
  }
  const context = chooseContext(asked, contexts, asked);
  // What the first file says counts, and kubectl writes it there too.
  const [file = ''] = found;
  await updateFile(file, signal, (text) => named(file, () => mergeKubeconfig(text, [], { use: context }).text)).catch(
    (error: unknown) => {
      throw error instanceof FileProblem ? new Failure(exitCodes.configuration, error.message) : error;
    },
  );
  await terminal.write(`Switched to context "${context}".\n`);
  return exitCodes.ok;
}

function contextsAt(file: string): ReturnType<typeof contextsOf> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Failure(exitCodes.configuration, `${file} cannot be read (${errnoOf(error)})`, 'correct the path');
  }
  return named(file, () => contextsOf(text));
}

/** A problem of the text names its file. */
function named<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof MergeProblem ? new Failure(exitCodes.configuration, `${file} ${error.message}`) : error;
  }
}
