import { homedir } from 'node:os';
import type { CommandRule, Guardrails } from '../../engine/schema/contract.ts';
import { isLetterOrDigit } from '../../text/characters.ts';
import { toNativePattern } from '../../text/re2/re2-pattern.ts';
import type { Denial } from '../guard-rules.ts';
import { allowlistDenied, commandDenied, slowPatternDenied } from '../messages.ts';
import { FOLDS_CASE } from '../own-files/comparable-path.ts';
import { readShellCommand } from '../shell/read-shell-command.ts';
import type { ShellCommand, ShellReading } from '../shell/shell-reading.ts';
import { commandTexts, pipelineTexts, plainText } from './command-texts.ts';
import { matchesPipelineRule, matchesSimpleRule } from './precise-rules.ts';
import { PATTERN_LIMIT_MS, withinTime } from './within-time.ts';

export const ALLOWLIST = 'shell_policy.allowlist';

/** The part of the user's rules that is about commands. */
export type CommandRules = Pick<Guardrails, 'blockCommands' | 'shellAllow'>;

/** What stands between two commands in a text, with the letters of merged options. */
const SEPARATORS = 8;

/** What a rule blocks: the text in which it was found, and whether that is surely the command itself. */
interface Hit {
  readonly text: string;
  readonly asCommand: boolean;
}

/**
 * Judges a command that has been read, by the allowlist and then by `block_commands`. The
 * patterns have 50 ms in all; over them it denies and names the one that took them. Throws for a pattern that is none,
 * where it is tried.
 */
export function judgeCommandRules(
  source: string,
  reading: ShellReading,
  rules: CommandRules,
  caseInsensitive: boolean,
): Denial | null {
  // Making a pattern ready costs more than all that is left to do for most commands.
  const likely = rules.blockCommands.filter((rule) => typeof rule !== 'string' || mayMatch(rule, source, reading));
  const hasPatterns = likely.some((rule) => typeof rule === 'string');
  let current: CommandRule | null = null;
  const judge = (): Denial | null => {
    current = null;
    const foreign = rules.shellAllow === null ? null : firstNotAllowed(rules.shellAllow, reading);
    if (foreign !== null) return deny(ALLOWLIST, allowlistDenied(plainText(foreign), rules.shellAllow ?? []));
    const texts = hasPatterns ? textsOf(reading) : [];
    for (const rule of likely) {
      current = rule;
      const hit = hitOf(rule, source, texts, reading, caseInsensitive);
      if (hit !== null) return deny(shownRule(rule), commandDenied(hit.text, hit.asCommand, reasonOf(rule)));
    }
    return null;
  };
  const patterns = [...likely.filter((rule) => typeof rule === 'string'), ...(rules.shellAllow ?? [])];
  // Watching the clock takes a thread and more than a millisecond, which is more than nearly all patterns take.
  if (patterns.length === 0 || areQuick(patterns, lengthOf(source, reading))) return judge();
  const judged = withinTime(PATTERN_LIMIT_MS, judge);
  if (judged !== null) return judged.value;
  return deny(current === null ? ALLOWLIST : shownRule(current), slowPatternDenied());
}

/** The precise rules that may forbid a command of which a deciding word is known only at run time. */
export function openRules(reading: ShellReading, rules: CommandRules, caseInsensitive: boolean): string[] {
  return rules.blockCommands.flatMap((rule) => {
    if (typeof rule === 'string' || 'pipeline' in rule) return [];
    const open = commandsOf(reading).some((command) => matchesSimpleRule(rule, command, caseInsensitive) === 'open');
    return open ? [shownRule(rule)] : [];
  });
}

function hitOf(
  rule: CommandRule,
  source: string,
  texts: readonly string[],
  reading: ShellReading,
  caseInsensitive: boolean,
): Hit | null {
  if (typeof rule === 'string') return patternHit(rule, source, texts);
  if ('pipeline' in rule) {
    const elements = reading.pipelines.find((each) => matchesPipelineRule(rule, each, caseInsensitive));
    const text = elements?.map((element) => element.map((command) => command.name).join(', ')).join(' | ');
    return text === undefined ? null : { text, asCommand: true };
  }
  const command = commandsOf(reading).find((each) => matchesSimpleRule(rule, each, caseInsensitive) === 'yes');
  return command === undefined ? null : { text: plainText(command), asCommand: true };
}

/** What it finds further on may be words of a message only, and the denial says so. */
function patternHit(rule: string, source: string, texts: readonly string[]): Hit | null {
  const pattern = nativeRegExp(rule);
  let further: string | null = null;
  for (const text of texts) {
    const at = text.search(pattern);
    if (at === 0) return { text, asCommand: true };
    if (at > 0) further ??= text;
  }
  const text = further ?? (source.search(pattern) >= 0 ? source : null);
  return text === null ? null : { text, asCommand: false };
}

/** Whether a pattern can match at all: all that it is shown is made of the source, of words and of names. */
function mayMatch(rule: string, source: string, reading: ShellReading): boolean {
  const leading = leadingWord(rule);
  if (leading === null) return true;
  const has = (text: string): boolean => (leading.ignoreCase ? text.toLowerCase() : text).includes(leading.word);
  return (
    has(source) || commandsOf(reading).some(({ name, argv }) => has(name) || argv.some(({ template }) => has(template)))
  );
}

/** No text that a pattern is shown is longer. */
function lengthOf(source: string, reading: ShellReading): number {
  let length = source.length;
  for (const { name, argv } of commandsOf(reading)) {
    length += name.length + SEPARATORS;
    for (const { template } of argv) length += template.length + 1;
  }
  return length;
}

function textsOf(reading: ShellReading): string[] {
  return [...commandsOf(reading).flatMap(commandTexts), ...pipelineTexts(reading.pipelines)];
}

function commandsOf(reading: ShellReading): ShellCommand[] {
  return [...reading.commands, ...reading.opened];
}

function reasonOf(rule: CommandRule): string | null {
  return typeof rule === 'string' ? null : rule.reason;
}

function deny(rule: string, message: string): Denial {
  return { decision: 'deny', rule, message };
}

/**
 * The rule that forbids one of the contract's own commands, as the user wrote it; null where it may run. The user gave
 * these commands: rules about files, what cannot be decided, and the loop's own files do not hold for them.
 */
export function judgeEvidence(run: string, directory: string, rules: Guardrails): string | null {
  if (rules.blockCommands.length === 0 && rules.shellAllow === null) return null;
  const reading = readShellCommand(run, { cwd: directory, home: homedir() });
  // An allowlist cannot vouch for what was not read.
  const unread = reading.undecidable.some(({ kind }) => /^(parse-error|too-large|too-deep)$/.test(kind));
  if (unread && rules.shellAllow !== null) return ALLOWLIST;
  return judgeCommandRules(run, reading, rules, FOLDS_CASE)?.rule ?? null;
}

/** The allowlist judges what these start instead of them. */
const TRANSPARENT = new Set(['env', 'timeout', 'nice', 'time', 'nohup', 'command']);

/** The first simple command that no pattern of the allowlist matches whole; null where all may run. */
export function firstNotAllowed(allow: readonly string[], reading: ShellReading): ShellCommand | null {
  const patterns = allow.map((pattern) => nativeRegExp(pattern, true));
  const judged = [...reading.commands, ...reading.opened.filter((command) => !TRANSPARENT.has(command.path))];
  return judged.find((command) => !isAllowed(command, patterns)) ?? null;
}

function isAllowed(command: ShellCommand, patterns: readonly RegExp[]): boolean {
  // A program whose name has a space in it would pass for a program with arguments.
  if (/\s/.test(command.path)) return false;
  const text = plainText(command);
  return patterns.some((pattern) => pattern.test(text));
}

/** What a pattern begins with. */
export interface LeadingWord {
  /** Letters and digits, in small letters where case is ignored. */
  readonly word: string;
  readonly ignoreCase: boolean;
}

/** What options of `rm` are merged into, for the patterns to see. */
const MERGED_OPTIONS = 'rf';

/**
 * The word that a pattern in RE2 syntax begins with, which every match of it contains; null where none is sure. Since it
 * is made of letters and digits, it lies within one word of a command.
 */
export function leadingWord(pattern: string): LeadingWord | null {
  // Another branch would not contain it.
  if (pattern.includes('|')) return null;
  const ignoreCase = pattern.startsWith('(?i)');
  const head = ignoreCase ? '(?i)'.length : 0;
  const start = pattern[head] === '^' ? head + 1 : head;
  let end = start;
  while (isLetterOrDigit(pattern.charCodeAt(end))) end += 1;
  // What is repeated may be missing.
  if (end > start && '*?{'.includes(pattern.charAt(end) || ' ')) end -= 1;
  const word = pattern.slice(start, end);
  if (MERGED_OPTIONS.includes(word)) return null;
  if (!ignoreCase) return { word, ignoreCase };
  const small = word.toLowerCase();
  // The long s and the Kelvin sign are other cases of these two, and keep their own in small letters.
  return small.includes('s') || small.includes('k') ? null : { word: small, ignoreCase };
}

/** A rule as people write it in the frontmatter, for messages and the journal. */
export function shownRule(rule: CommandRule): string {
  if (typeof rule === 'string') return rule;
  if ('pipeline' in rule) return `{pipeline: [${rule.pipeline.map(shownWord).join(', ')}]}`;
  const args = rule.args.length === 0 ? '' : `, args: [${rule.args.map(shownWord).join(', ')}]`;
  return `{command: ${shownWord(rule.command)}${args}}`;
}

function shownWord(word: string): string {
  return /^[\w./*|-]+$/.test(word) ? word : JSON.stringify(word);
}

/** A pattern in RE2 syntax as a RegExp that finds it anywhere, or, with `whole`, matches whole texts only. */
export function nativeRegExp(pattern: string, whole = false): RegExp {
  const { source, flags } = toNativePattern(pattern);
  return new RegExp(whole ? `^(?:${source})$` : source, flags);
}

/** Steps that the engine takes within a few milliseconds, even where each command is shown to it in eight ways. */
const MOST_STEPS = 1_000_000;

/**
 * Whether all these patterns, in RE2 syntax, surely search texts of this many characters in no time, so that nobody has
 * to watch the clock. A search that goes back takes at most one step for each place to begin at and for each way to end
 * every repetition; patterns with groups, which can nest repetitions, are never sure.
 */
export function areQuick(patterns: readonly string[], characters: number): boolean {
  let steps = 0;
  for (const pattern of patterns) steps += characters ** (1 + repetitions(pattern));
  return steps <= MOST_STEPS;
}

/** At least as many as the pattern has; what stands in brackets or behind a backslash may be counted too. */
function repetitions(pattern: string): number {
  let found = 0;
  for (let at = pattern.startsWith('(?i)') ? '(?i)'.length : 0; at < pattern.length; at += 1) {
    const character = pattern.charAt(at);
    if (character === '(' || pattern.startsWith('\\Q', at)) return Number.POSITIVE_INFINITY;
    if (character === '\\') at += 1;
    else if ('*+?{'.includes(character)) found += 1;
  }
  return found;
}
