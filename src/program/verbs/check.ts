/** `check [NAME...]`: follows the path of a request to each cluster, and reports where it fails. */
import { parseRight } from '../check/permissions.ts';
import { Prober } from '../check/probe.ts';
import { Progress } from '../check/progress.ts';
import { formatReport, formatSummary } from '../check/report.ts';
import { type ClusterReport, exitCodeOf, failedStage } from '../check/stages.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { durationOf, numberOf } from '../option-values.ts';
import { printData } from '../print.ts';
import { noProfiles, profilesOf } from '../profiles.ts';
import { requiredProvidersOf } from '../providers.ts';
import { sideBySide } from '../side-by-side.ts';
import type { Call } from '../verb.ts';

const defaultTimeout = '60s';
const defaultParallel = '10';

export async function run(call: Call): Promise<ExitCode> {
  const { options, terminal, signal } = call;
  const timeoutMs = durationOf('--timeout', options.text('timeout') ?? defaultTimeout);
  const atOnce = numberOf('--parallel', options.text('parallel') ?? defaultParallel);
  const rights = options.texts('can-i').map(parseRight);
  const providers = await requiredProvidersOf(call);
  const profiles = await profilesOf(call);
  const asData = options.text('output') !== undefined;
  if (profiles.length === 0 && !asData) {
    await terminal.say(await noProfiles(call));
    return exitCodes.ok;
  }
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
      const isShown = !asData && (failedStage(report) !== undefined || !options.has('quiet'));
      await progress.done(report, isShown ? formatReport(report, terminal) : '');
    }
  } finally {
    progress.end();
    await prober.close();
  }
  const wasStopped = signal.aborted;
  if (!(await printData(call, () => toData(reports)))) {
    await terminal.write(formatSummary(reports, profiles.length, terminal));
  }
  return wasStopped ? exitCodes.interrupted : exitCodeOf(reports);
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
