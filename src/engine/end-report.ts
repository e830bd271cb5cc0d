import { dollarText, timeText } from '../text/figures.ts';
import { oneLine } from '../text/quote.ts';
import { localTime } from '../text/time.ts';
import { iterations } from './messages.ts';
import { baselineText } from './proof-texts.ts';
import type { Baseline, Proof } from './schema/proof.ts';
import type { LoopNotice } from './schema/records.ts';
import type { LoopState, TerminalStatus } from './schema/state.ts';

/** Report of an ended loop, as `status --json` publishes it. */
export interface EndReport {
  readonly outcome: TerminalStatus;
  /** The loop's last message, without the command, which is in `next`. */
  readonly reason: string;
  readonly verified: boolean;
  /** What a completion rests on; null for other ends. */
  readonly proof: Proof | null;
  /** Results of the checks before the first iteration; null if unknown. */
  readonly before: Baseline['checks'] | null;
  /** Present if the checks of a plan's tasks ran in the project and not on a copy of their commits. */
  readonly verifiedIn?: 'project';
  readonly checks: readonly Readonly<NonNullable<LoopState['checks']>[number]>[];
  readonly iterations: number;
  /** Number of iterations missing from the journal; absent if it has them all. */
  readonly unrecorded?: number;
  readonly maxIterations: number;
  /** Time in which the loop ran or waited. */
  readonly durationMs: number;
  /** Time for which it was paused or not driven, or its machine slept; absent: none. */
  readonly stoppedMs?: number;
  readonly costUsd: number | null;
  readonly tokens: number | null;
  /** Changes of the project since the start; null without git. */
  readonly changes: {
    readonly stat: readonly string[];
    readonly newFiles: readonly string[];
    /** Submodules and nested repositories with uncommitted changes, which git does not compare; absent: none. */
    readonly repositories?: readonly string[];
  } | null;
  /** True if git has committed all changes; absent without changes, without git, and in reports of older versions. */
  readonly committed?: boolean;
  /** Pinned files of the checks that differ from those that the user started with or accepted. */
  readonly changedScripts: readonly string[];
  /** Other events that the reader of a report must know about, oldest first. */
  readonly notices: readonly ShownNotice[];
  /** Sentence about an agent without a sandbox, if the user must know; null otherwise. */
  readonly unsandboxed: string | null;
  readonly lastWords: readonly string[];
  /** Command that undoes the changes, known or not; null without changes or without the files of the start. */
  readonly restore: string | null;
  /** Next command: show the changes of a complete loop, resume any other. */
  readonly next: string | null;
}

export type ShownNotice = Pick<LoopNotice, 'at' | 'kind' | 'text'>;

const MOST_FILES = 12;

/** Label of each kind of notice, which begins its line. */
export const NOTICE_LABELS: Record<LoopNotice['kind'], string> = {
  accept: 'Changed by accept',
  consent: 'Agreed',
  allow: 'Allowed',
  restore: 'Restored',
  change: 'Changed',
  counters: 'Counters kept',
  evidence: 'Evidence lost',
  undo: 'Undone',
  'undo-back': 'Undo taken back',
};

/** Returns the newest notices for people, one per line, oldest first. */
export function noticeLines(notices: readonly ShownNotice[]): string[] {
  const hidden = notices.length - MOST_FILES;
  return [
    ...(hidden > 0 ? [`[${hidden} earlier notices: ralph-loop logs]`] : []),
    ...notices.slice(-MOST_FILES).map(({ at, kind, text }) => `${NOTICE_LABELS[kind]} at ${localTime(at)}: ${text}`),
  ];
}

export function reportLines(report: EndReport): string[] {
  const { checks, before, changes, lastWords, restore, next, changedScripts, notices, unsandboxed } = report;
  const failed = checks.filter(({ outcome }) => outcome !== 'ok');
  const passed = checks.filter(({ outcome }) => outcome === 'ok');
  return [
    ...(passed.length === 0 ? [] : [`  Passed: ${passed.map(({ name }) => name).join(', ')}`]),
    ...(failed.length === 0 ? [] : [`  Failed: ${failed.map((check) => failedText(check, report.reason)).join('; ')}`]),
    ...(checks.length > 0 ? [] : [before === null ? '  No check was run.' : '  No check has run since the start.']),
    ...(before === null ? [] : [`  Before the start: ${baselineText({ checks: before })}`]),
    ...(report.verifiedIn === undefined ? [] : [VERIFIED_IN_PROJECT]),
    `  ${figures(report)}`,
    ...(report.unrecorded === undefined ? [] : [`  ${unrecordedText(report.unrecorded, report.iterations)}`]),
    ...(changes === null ? [] : changeLines(changes)),
    ...(changedScripts.length === 0 ? [] : [`  Files of the checks that changed: ${changedScripts.join(', ')}`]),
    ...noticeLines(notices).map((line) => `  ${line}`),
    ...(unsandboxed === null ? [] : [`  ${unsandboxed}`]),
    ...(lastWords.length === 0 ? [] : ["  The agent's final message:", ...lastWords.map((line) => `    ${line}`)]),
    ...(next === null ? [] : [`  Next: ${next}`]),
    ...(restore === null ? [] : [`  Undo: ${restore}`]),
    ...(changes === null && restore === null ? ['  There is no undo: the files of the start were not recorded.'] : []),
  ];
}

const VERIFIED_IN_PROJECT =
  '  The checks ran in the project (verify_in: project): a clone of the commits may lack what they needed.';

/** Names a failed check, with its reason unless the line above the report already gives it. */
function failedText({ name, outcome, why }: EndReport['checks'][number], told: string): string {
  const failed = outcome === 'failed' ? name : `${name} (${outcome})`;
  return why === undefined || told.includes(why) ? failed : `${failed}: ${why}`;
}

export function unrecordedText(lacking: number, counted: number): string {
  return `The journal lacks ${lacking} of ${iterations(counted)}: a process, or the machine, stopped before it was written.`;
}

function figures({ iterations: count, maxIterations, durationMs, stoppedMs, costUsd, tokens }: EndReport): string {
  return [
    `${iterations(count)} of ${maxIterations}`,
    timeText(durationMs) + stoppedText(stoppedMs ?? 0, (time) => `not counting ${time} in which it did not run`),
    costUsd === null ? 'cost unknown' : dollarText(costUsd),
    tokens === null ? 'tokens unknown' : `${tokens.toLocaleString('en')} tokens`,
  ].join(', ');
}

/** Says in the words of `say` how long a loop was stopped; '' for less than a second. */
export function stoppedText(stoppedMs: number, say: (time: string) => string): string {
  return stoppedMs < 1_000 ? '' : ` (${say(timeText(stoppedMs))})`;
}

function changeLines({ stat, newFiles, repositories = [] }: NonNullable<EndReport['changes']>): string[] {
  const apart =
    repositories.length === 0
      ? []
      : [`  Uncommitted in repositories of their own: ${repositories.map(oneLine).join(', ')}`];
  if (stat.length + newFiles.length === 0)
    return [...apart, `  Nothing ${apart.length === 0 ? '' : 'else '}changed since the start.`];
  const files = [...stat.slice(0, -1).map((line) => line.trim()), ...newFiles.map((path) => `${oneLine(path)} (new)`)];
  const more = files.length - MOST_FILES;
  return [
    `  Changed since the start:${stat.length === 0 ? '' : ` ${stat.at(-1)?.trim()}`}`,
    ...files.slice(0, MOST_FILES).map((line) => `    ${line}`),
    ...(more > 0 ? [`    and ${more} more`] : []),
    ...apart,
  ];
}
