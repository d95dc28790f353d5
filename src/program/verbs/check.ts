/** `check [NAME...]`: follows the path of a request to each cluster, and reports where it fails. */
import { parseArgs } from 'node:util';
import { type ClusterReport, failedStage, formatDuration, Prober, type Right } from '../../diagnose/index.ts';
import { cachedUntil } from '../cache.ts';
import { exitCodeOf, formatCauses, formatReport, formatSummary, formatWide, Progress } from '../check/report.ts';
import { type ExitCode, exitCodes, Failure } from '../failure.ts';
import { durationOf, numberOf } from '../input.ts';
import { noProfiles, type Profile, profilesOf } from '../profiles.ts';
import { requiredProvidersOf } from '../providers.ts';
import { print, sideBySide } from '../table.ts';
import type { Call } from '../verb.ts';

export async function run(call: Call): Promise<ExitCode> {
  const { options, terminal, signal } = call;
  const format = options.text('output');
  if (options.has('watch') && format !== undefined) {
    const message = `--watch and -o ${format} contradict each other: a watch prints changes`;
    throw Failure.usage(message, 'leave one of the two out');
  }
  const setUp = await setUpOf(call);
  if (options.has('watch')) return watchClusters(call, setUp);
  const profiles = await profilesOf(call);
  if (profiles.length === 0 && format === undefined) {
    await terminal.say(await noProfiles(call));
    return exitCodes.ok;
  }
  const { isShown, rights } = setUp;
  const reports = await checkOnce(call, setUp, profiles, (report) => format === undefined && isShown(report));
  const wasStopped = signal.aborted;
  const shown = reports.filter(isShown);
  const summary = formatSummary(reports, profiles.length, terminal);
  const text = () => (format === 'wide' ? formatWide(shown, rights, call) : summary + formatCauses(reports, terminal));
  const names = shown.map(({ profile }) => profile);
  await print(call, toData(shown), text, names);
  if (format === 'wide') await terminal.say(summary.trimEnd());
  return wasStopped ? exitCodes.interrupted : exitCodeOf(reports);
}

type SetUp = Awaited<ReturnType<typeof setUpOf>>;

async function setUpOf(call: Call) {
  const { options } = call;
  return {
    intervalMs: durationOf('--interval', options.text('interval') ?? '60s'),
    timeoutMs: durationOf('--timeout', options.text('timeout') ?? '60s'),
    atOnce: numberOf('--parallel', options.text('parallel') ?? '10'),
    rights: options.texts('can-i').map(parseRight),
    isShown: (report: ClusterReport) => !options.has('failed-only') || failedStage(report) !== undefined,
    providers: await requiredProvidersOf(call),
  };
}

/** Checks each cluster, and prints the reports that `isPrinted` chooses as they come. */
async function checkOnce(
  { program, terminal, signal }: Call,
  { providers, timeoutMs, atOnce, rights }: SetUp,
  profiles: readonly Profile[],
  isPrinted: (report: ClusterReport) => boolean,
): Promise<readonly ClusterReport[]> {
  // Its plugin may ask something.
  const mayTalk = providers.providers.some(({ execConfig }) => execConfig.interactiveMode !== 'Never');
  const progress = new Progress(terminal, profiles.length, mayTalk);
  const prober = new Prober(providers, timeoutMs);
  const reports: ClusterReport[] = [];
  const cached = cachedUntil();
  const onStage = progress.at.bind(progress);
  try {
    const results = sideBySide(profiles, atOnce, signal, (profile) =>
      prober.check(profile, { rights, signal, onStage }),
    );
    for await (const report of results) {
      // A check that was interrupted says nothing about the cluster.
      if (signal.aborted) break;
      const noted = withCached(report, cached.get(report.profile), program);
      reports.push(noted);
      await progress.done(noted, isPrinted(noted) ? formatReport(noted, terminal) : '');
    }
  } finally {
    progress.end();
    await prober.close();
  }
  return reports;
}

/** What `-o json` prints. */
function toData(reports: readonly ClusterReport[]): object {
  return {
    items: reports.map((report) => {
      const failed = failedStage(report);
      return {
        profile: report.profile,
        ok: !failed,
        ...(failed ? { failed: failed.stage } : {}),
        stages: report.stages,
      };
    }),
  };
}

/** Reads `VERB RESOURCE[.GROUP][/NAME] [-n NAMESPACE] [--subresource NAME]`. Throws a `Failure`. */
function parseRight(text: string): Right {
  try {
    const options = { namespace: { type: 'string', short: 'n' }, subresource: { type: 'string' } } as const;
    const words = text.trim().split(/\s+/);
    const { values, positionals } = parseArgs({ args: words, options, allowPositionals: true });
    const [verb, target, ...others] = positionals;
    const [, resource, group = '', name] = /^([^./]+)(?:\.([^/]+))?(?:\/([^/]+))?$/.exec(target ?? '') ?? [];
    if (verb !== undefined && resource !== undefined && others.length === 0) {
      return { text: words.join(' '), attributes: { verb, group, resource, ...(name ? { name } : {}), ...values } };
    }
  } catch {
    // Its message speaks of options of the program.
  }
  throw Failure.usage(
    `--can-i '${text}': must be VERB RESOURCE[.GROUP][/NAME] [-n NAMESPACE] [--subresource NAME]`,
    `--can-i 'list namespaces', --can-i 'update deployments.apps/web -n shop --subresource status'`,
  );
}

/** Returns the exit code of the last round that came to its end. */
async function watchClusters(call: Call, setUp: SetUp): Promise<ExitCode> {
  const { signal, terminal, options } = call;
  // A file may be a pipe, which is read once.
  const fromFiles = options.texts('filename').length > 0 ? await profilesOf(call) : undefined;
  let before: ReadonlyMap<string, string> | undefined;
  let exitCode: ExitCode = exitCodes.interrupted;
  const { repeat } = await import('../watch.ts');
  await repeat(call, setUp.intervalMs, async () => {
    const known = before;
    const isChanged = (report: ClusterReport) => known?.get(report.profile) !== stateOf(report);
    const profiles = fromFiles ?? (await profilesOf(call));
    const reports = await checkOnce(call, setUp, profiles, known ? isChanged : setUp.isShown);
    if (signal.aborted) return;
    const now = new Map(reports.map((report) => [report.profile, stateOf(report)]));
    exitCode = exitCodeOf(reports);
    before = now;
    const gone = [...(known?.keys() ?? [])].filter((profile) => !now.has(profile));
    await terminal.write(gone.map((profile) => `${profile} has gone\n`).join(''));
    if (!known || gone.length > 0 || reports.some(isChanged)) {
      await terminal.write(`${new Date().toISOString()} ${formatSummary(reports, reports.length, terminal)}`);
    }
  });
  return exitCode;
}

/** Messages have times in them, and a plugin may write another stderr each time. */
function stateOf({ stages }: ClusterReport): string {
  return JSON.stringify(stages.map(({ stage, result, code }) => [stage, result, code]));
}

/** The check ran the plugin, and kubectl may use an earlier credential of it, which may have been revoked. */
function withCached(report: ClusterReport, until: number | undefined, program: string): ClusterReport {
  if (until === undefined) return report;
  const note = `clients use a cached one for another ${formatDuration(until - Date.now())}; if they are refused: ${program} credential --forget ${report.profile}`;
  const stages = report.stages.map((stage) =>
    stage.stage === 'plugin' ? { ...stage, message: `${stage.message}\n${note}` } : stage,
  );
  return { ...report, stages };
}
