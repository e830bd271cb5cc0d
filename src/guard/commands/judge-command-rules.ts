import type { CommandRule, Guardrails } from '../../core/schema/contract.ts';
import type { Denial } from '../guard-rules.ts';
import { allowlistDenied, commandDenied, slowPatternDenied } from '../messages.ts';
import type { ShellCommand, ShellReading } from '../shell/shell-reading.ts';
import { PATTERN_LIMIT_MS, withinTime } from '../within-time.ts';
import { firstNotAllowed } from './allowlist.ts';
import { commandTexts, pipelineTexts, plainText } from './command-texts.ts';
import { nativeRegExp } from './native-reg-exp.ts';
import { matchesPipelineRule, matchesSimpleRule } from './precise-rules.ts';
import { shownRule } from './shown-rule.ts';

export const ALLOWLIST = 'shell_policy.allowlist';

/** The part of the user's rules that is about commands. */
export type CommandRules = Pick<Guardrails, 'blockCommands' | 'shellAllow'>;

/** What a rule blocks: the text in which it was found, and whether that is surely the command itself. */
interface Hit {
  readonly text: string;
  readonly asCommand: boolean;
}

/**
 * Judges a command that has been read, by the allowlist and then by `block_commands`. The
 * patterns have 50 ms in all; over them it denies and names the one that took them. Throws for a pattern that is none.
 */
export function judgeCommandRules(
  source: string,
  reading: ShellReading,
  rules: CommandRules,
  caseInsensitive: boolean,
): Denial | null {
  const hasPatterns = rules.blockCommands.some((rule) => typeof rule === 'string');
  let current = ALLOWLIST;
  const judge = (): Denial | null => {
    current = ALLOWLIST;
    const foreign = rules.shellAllow === null ? null : firstNotAllowed(rules.shellAllow, reading);
    if (foreign !== null) return deny(ALLOWLIST, allowlistDenied(plainText(foreign), rules.shellAllow ?? []));
    const texts = hasPatterns ? textsOf(reading) : [];
    for (const rule of rules.blockCommands) {
      current = shownRule(rule);
      const hit = hitOf(rule, source, texts, reading, caseInsensitive);
      if (hit !== null) return deny(current, commandDenied(hit.text, hit.asCommand, reasonOf(rule)));
    }
    return null;
  };
  // Precise rules take time with the command alone; watching the clock costs a third of a millisecond.
  if (!hasPatterns && rules.shellAllow === null) return judge();
  const judged = withinTime(PATTERN_LIMIT_MS, judge);
  return judged === null ? deny(current, slowPatternDenied()) : judged.value;
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
  if (typeof rule === 'string') {
    const pattern = nativeRegExp(rule);
    const found = (text: string): number => text.search(pattern);
    // What it finds further on may be words of a message only, and the denial says so.
    const command = texts.find((text) => found(text) === 0);
    const text = command ?? [...texts, source].find((each) => found(each) >= 0);
    return text === undefined ? null : { text, asCommand: command !== undefined };
  }
  if ('pipeline' in rule) {
    const elements = reading.pipelines.find((each) => matchesPipelineRule(rule, each, caseInsensitive));
    const text = elements?.map((element) => element.map((command) => command.name).join(', ')).join(' | ');
    return text === undefined ? null : { text, asCommand: true };
  }
  const command = commandsOf(reading).find((each) => matchesSimpleRule(rule, each, caseInsensitive) === 'yes');
  return command === undefined ? null : { text: plainText(command), asCommand: true };
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
