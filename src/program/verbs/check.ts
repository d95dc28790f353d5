/** `check [NAME...]`: follows the path of a request to each cluster, and reports where it fails. */
import { parseRight, type Right } from '../check/permissions.ts';
import { Prober } from '../check/probe.ts';
import { Progress } from '../check/progress.ts';
import { formatReport, formatSummary } from '../check/report.ts';
import { type ClusterReport, exitCodeOf, failedStage } from '../check/stages.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { durationOf, numberOf } from '../option-values.ts';
import { printData } from '../print.ts';
import { noProfiles, type Profile, profilesOf } from '../profiles.ts';
import { type CallProviders, requiredProvidersOf } from '../providers.ts';
import { sideBySide } from '../side-by-side.ts';
import type { Call } from '../verb.ts';

const defaultTimeout = '60s';
const defaultParallel = '10';
const defaultInterval = '60s';

export async function run(call: Call): Promise<ExitCode> {
  const { options, terminal, signal } = call;
  const format = options.text('output');
  if (options.has('watch') && format !== undefined) {
    const message = `--watch and -o ${format} contradict each other: a watch prints changes`;
    throw new Failure(exitCodes.usage, message, 'leave one of the two out');
  }
  const intervalMs = durationOf('--interval', options.text('interval') ?? defaultInterval);
  const setUp = await setUpOf(call);
  const isShown = (report: ClusterReport) => !options.has('failed-only') || failedStage(report) !== undefined;
  if (options.has('watch')) {
    const { watchClusters } = await import('../check/watch.ts');
    // A file may be a pipe, which is read once.
    const fromFiles = options.texts('filename').length > 0 ? await profilesOf(call) : undefined;
    const checkAll = async (isPrinted: (report: ClusterReport) => boolean) =>
      checkOnce(call, setUp, fromFiles ?? (await profilesOf(call)), isPrinted);
    return watchClusters(call, checkAll, { intervalMs, isShownAtFirst: isShown });
  }
  const profiles = await profilesOf(call);
  if (profiles.length === 0 && format === undefined) {
    await terminal.say(await noProfiles(call));
    return exitCodes.ok;
  }
  const reports = await checkOnce(call, setUp, profiles, (report) => format === undefined && isShown(report));
  const wasStopped = signal.aborted;
  const shown = reports.filter(isShown);
  if (format === 'name') await terminal.write(shown.map(({ profile }) => `${profile}\n`).join(''));
  else if (!(await printData(call, () => toData(shown)))) {
    await terminal.write(formatSummary(reports, profiles.length, terminal));
  }
  return wasStopped ? exitCodes.interrupted : exitCodeOf(reports);
}

interface SetUp {
  readonly providers: CallProviders;
  readonly timeoutMs: number;
  readonly atOnce: number;
  readonly rights: readonly Right[];
}

async function setUpOf(call: Call): Promise<SetUp> {
  const { options } = call;
  return {
    timeoutMs: durationOf('--timeout', options.text('timeout') ?? defaultTimeout),
    atOnce: numberOf('--parallel', options.text('parallel') ?? defaultParallel),
    rights: options.texts('can-i').map(parseRight),
    providers: await requiredProvidersOf(call),
  };
}

/** Checks each cluster, and prints the reports that `isPrinted` chooses as they come. */
async function checkOnce(
  { terminal, signal }: Call,
  { providers, timeoutMs, atOnce, rights }: SetUp,
  profiles: readonly Profile[],
  isPrinted: (report: ClusterReport) => boolean,
): Promise<readonly ClusterReport[]> {
  // Its plugin may ask something.
  const mayTalk = providers.providers.some(({ execConfig }) => execConfig.interactiveMode !== 'Never');
  const progress = new Progress(terminal, profiles.length, mayTalk);
  const prober = new Prober(providers, timeoutMs);
  const reports: ClusterReport[] = [];
  const onStage = progress.at.bind(progress);
  try {
    const results = sideBySide(profiles, atOnce, signal, (profile) =>
      prober.check(profile, { rights, signal, onStage }),
    );
    for await (const report of results) {
      // A check that was interrupted says nothing about the cluster.
      if (signal.aborted) break;
      reports.push(report);
      await progress.done(report, isPrinted(report) ? formatReport(report, terminal) : '');
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
