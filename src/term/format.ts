import { stripVTControlCharacters, styleText } from 'node:util';
import type { RunnerEventOf } from '../engine/runner-event.ts';
import { costText, counted, timeText } from '../text/figures.ts';
import { oneLine } from '../text/quote.ts';
import { elapsed, formatDuration, localTime } from '../text/time.ts';
import { paintedCells } from './write-text.ts';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

export type Paint = (style: Style, text: string) => string;

/** Returns colours for people at a terminal; NO_COLOR and a dumb terminal disable them. */
export function painter(atTerminal: boolean, env: NodeJS.ProcessEnv): Paint {
  const plain = !atTerminal || Boolean(env['NO_COLOR']) || env['TERM'] === 'dumb';
  // styleText would check process.stdout again.
  return plain ? (_style, text) => text : (style, text) => styleText(style, text, { validateStream: false });
}

/** Control characters, and those that change the direction of following text: "gpj.exe" would read "exe.jpg". */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u202a-\u202e\u2066-\u2069]/g;

/** Commands to the terminal with their text, such as a title. One without an end is shown: it would hide all the rest. */
const TERMINAL_COMMANDS = /\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)/g;

/** Removes characters that could disguise a text: escape sequences and control characters except line ends and tabs. */
export function printable(text: string): string {
  // A hyperlink's address is not part of the text either. Node leaves most of a title.
  return stripVTControlCharacters(text.replace(TERMINAL_COMMANDS, '')).replace(UNSEEN, '');
}

/** Aligns rows in columns, two spaces apart, without trailing blanks. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, paintedCells(cell));
  }
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - paintedCells(cell)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/**
 * Aligns columns, each with its name first, and returns the lines. While one is wider than `width`, omits a column named in
 * `spare`, in its order.
 */
export function fittedTable(
  columns: readonly (readonly string[])[],
  spare: readonly string[],
  width: number,
): string[] {
  const [rows = []] = columns;
  const lines = table(rows.map((_, at) => columns.map((values) => values[at] ?? ''))).split('\n');
  const [next, ...others] = spare;
  if (next === undefined || lines.every((line) => paintedCells(line) <= width)) return lines;
  return fittedTable(
    columns.filter(([name = '']) => name.trim() !== next),
    others,
    width,
  );
}

/** Outcomes of an agent's run without a message, or with one in the following event. */
const SAID_LATER: ReadonlySet<string> = new Set([
  ...['ok', 'overloaded', 'crashed', 'authentication', 'billing', 'invalid-request', 'unguarded', 'options'],
]);

export function isSaidLater(outcome: string): boolean {
  return SAID_LATER.has(outcome);
}

/** Formats the figures of one run that the agent reported: `12s │ 4 turns │ $0.42`. */
export function runFigures(run: RunnerEventOf<'agent.ended'>): string {
  const { durationMs, turns, costUsd, usage } = run;
  return [
    timeText(durationMs),
    ...(turns === null ? [] : [counted(turns, 'turn')]),
    ...(turns === null && usage === null ? [] : [costText(costUsd)]),
  ].join(' │ ');
}

/** Formats a command that ran before a prompt: `lint (14ms): not run, check.sh was changed since the loop started`. */
export function commandText({ name, durationMs, why }: RunnerEventOf<'command.ran'>): string {
  return `${oneLine(name)} (${timeText(durationMs)})${why === undefined ? '' : `: ${oneLine(why)}`}`;
}

/** Formats an instant in local time: `2026-02-28 10:00:00, 12m ago` (or `in 12m`); at least a second. */
export function instantText(instant: string, now: string): string {
  const future = elapsed(now, instant);
  const distance = formatDuration(Math.max(1_000, future, elapsed(instant, now)));
  return `${localTime(instant)}, ${future > 0 ? `in ${distance}` : `${distance} ago`}`;
}

/** Returns why a call was denied, and on a separate line the option that would allow it; both are shown below the call. */
export function deniedText({ reason = '', allow }: Pick<RunnerEventOf<'tool.ended'>, 'reason' | 'allow'>): string {
  const option = allow === undefined ? '' : `\n    To allow it, add: ${allow}`;
  return `    denied: ${reason.trim().replace(/[^.!?]$/, '$&.')}${option}`;
}
