import type { CommandRule, Guardrails } from '../../core/schema/contract.ts';
import type { Denial } from '../guard-rules.ts';
import { allowlistDenied, commandDenied, slowPatternDenied } from '../messages.ts';
import type { ShellCommand, ShellReading } from '../shell/shell-reading.ts';
import { PATTERN_LIMIT_MS, withinTime } from '../within-time.ts';
import { firstNotAllowed } from './allowlist.ts';
import { commandTexts, pipelineTexts, plainText } from './command-texts.ts';
import { leadingWord } from './leading-word.ts';
import { nativeRegExp } from './native-reg-exp.ts';
import { matchesPipelineRule, matchesSimpleRule } from './precise-rules.ts';
import { areQuick } from './quick-patterns.ts';
import { shownRule } from './shown-rule.ts';

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
