/** `lint FILE...`: reports problems of provider files, ClusterProfiles and manifests of controllers. */
import { type Finding, lineOfFinding, lint, severities } from '../../diagnose/index.ts';
import { type ExitCode, exitCodes, Failure } from '../failure.ts';
import { readSource } from '../input.ts';
import { providersOf } from '../providers.ts';
import { counted, print } from '../table.ts';
import type { Call } from '../verb.ts';

export async function run(call: Call): Promise<ExitCode> {
  const { args, options, terminal } = call;
  if (args.length === 0) {
    throw Failure.usage('lint needs the names of files', `${call.program} lint providers.yaml deploy/*.yaml`);
  }
  const { providers: configured } = await providersOf(call);
  const files = await Promise.all(
    args.map(async (file) => ({ file: file === '-' ? 'stdin' : file, text: await readSource(file, call.signal) })),
  );
  const findings = lint(files, configured);
  await print(call, { findings }, () => findings.map((finding) => `${lineOfFinding(finding)}\n`).join(''));
  await terminal.say(summaryOf(findings, files.length));
  const failOn = severities.find((severity) => severity === options.text('fail-on')) ?? 'error';
  const worst = severities.find((severity) => findings.some((finding) => finding.severity === severity));
  const isFailing = worst !== undefined && severities.indexOf(worst) <= severities.indexOf(failOn);
  return isFailing ? exitCodes.configuration : exitCodes.ok;
}

/** `2 errors, 1 warning in 3 files`. */
function summaryOf(findings: readonly Finding[], files: number): string {
  const counts = severities.flatMap((severity) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    return count === 0 ? [] : [counted(count, severity)];
  });
  return `${counts.join(', ') || 'no problems'} in ${counted(files, 'file')}`;
}
