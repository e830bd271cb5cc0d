import { homedir, tmpdir } from 'node:os';
import { posix } from 'node:path';
import type { CommandRule, Guardrails } from '../../engine/schema/contract.ts';
import { compilePattern, patternText } from '../../text/pattern.ts';
import { excerpt } from '../../text/quote.ts';
import { FOLDS_CASE, realPath } from '../comparable-path.ts';
import { type Denial, deny } from '../guard.ts';
import { allowlistDenied, commandDenied, slowPatternDenied } from '../messages.ts';
import { basenameOf, isForCodeOption } from '../shell/program-words.ts';
import { readShellCommand } from '../shell/read-shell-command.ts';
import type { FileAccess, NamedWords, ShellCommand, ShellReading } from '../shell/shell-reading.ts';
import { hasOption, splitOptions, wordOf } from '../shell/words.ts';
import { commandTexts, matchesPipelineRule, matchesSimpleRule, pipelineTexts, plainText } from './precise-rules.ts';
import { PATTERN_LIMIT_MS, withinTime } from './within-time.ts';

const ALLOWLIST = 'shell_policy.allowlist';

type CommandRules = Pick<Guardrails, 'blockCommands' | 'shellAllow'>;

/**
 * Evaluates a command by the allowlist, then by `block_commands`. All patterns together have 50 ms; when the time runs out,
 * the command is denied by the pattern that was running. Throws for an invalid pattern.
 */
export function evaluateCommandRules(
  source: string,
  reading: ShellReading,
  rules: CommandRules,
  caseInsensitive: boolean,
  projectDir?: string,
): Denial | null {
  const hasPatterns = rules.blockCommands.some((rule) => typeof rule === 'string');
  let current: CommandRule | null = null;
  const evaluate = (): Denial | null => {
    current = null;
    const foreign = rules.shellAllow === null ? null : firstNotAllowed(rules.shellAllow, reading, projectDir);
    if (foreign !== null) return deny(ALLOWLIST, allowlistDenied(foreign, rules.shellAllow ?? []));
    const named = hasPatterns ? commandsOf(reading).flatMap(commandTexts) : [];
    const texts = hasPatterns ? [...named, ...pipelineTexts(reading.pipelines)].map(patternText) : [];
    const behind = reading.named.flatMap(commandsBehind);
    for (const rule of rules.blockCommands) {
      current = rule;
      const hit = hitOf(rule, patternText(source), texts, behind, reading, caseInsensitive);
      const reason = typeof rule === 'string' ? null : rule.reason;
      if (hit !== null) return deny(shownRule(rule), commandDenied(hit.text, hit.asCommand, reason));
    }
    return null;
  };
  if (!hasPatterns && rules.shellAllow === null) return evaluate();
  const result = withinTime(PATTERN_LIMIT_MS, evaluate);
  if (result !== null) return result.value;
  return deny(current === null ? ALLOWLIST : shownRule(current), slowPatternDenied());
}

/** Returns the precise rules that may forbid a command with a decisive word known only at run time. */
export function openRules(reading: ShellReading, rules: CommandRules, caseInsensitive: boolean): string[] {
  return rules.blockCommands.flatMap((rule) => {
    if (typeof rule === 'string' || 'pipeline' in rule) return [];
    const open = commandsOf(reading).some((command) => matchesSimpleRule(rule, command, caseInsensitive) === 'open');
    return open ? [shownRule(rule)] : [];
  });
}

/** Returns the text in which a rule was found; `asCommand` if that is certainly the command itself. */
function hitOf(
  rule: CommandRule,
  source: string,
  texts: readonly string[],
  behind: readonly ShellCommand[],
  reading: ShellReading,
  caseInsensitive: boolean,
): { readonly text: string; readonly asCommand: boolean } | null {
  if (typeof rule === 'string') return patternHit(rule, source, texts, behind);
  if ('pipeline' in rule) {
    const elements = reading.pipelines.find((each) => matchesPipelineRule(rule, each, caseInsensitive));
    const text = elements?.map((element) => element.map((command) => command.name).join(', ')).join(' | ');
    return text === undefined ? null : { text, asCommand: true };
  }
  const all = [...commandsOf(reading), ...(rule.args.length === 0 ? [] : behind)];
  const command = all.find((each) => matchesSimpleRule(rule, each, caseInsensitive) === 'yes');
  return command === undefined ? null : { text: plainText(command), asCommand: true };
}

/** Returns a match of a pattern. One that is not at the beginning may be in a message, and the denial mentions that. */
function patternHit(rule: string, source: string, texts: readonly string[], behind: readonly ShellCommand[]) {
  const pattern = compiled(rule);
  let further: string | null = null;
  for (const text of texts) {
    const at = text.search(pattern);
    if (at === 0) return { text, asCommand: true };
    if (at > 0) further ??= text;
  }
  const command = behind.find((each) =>
    commandTexts(each).some((text) => /\s/.test(beginOf(patternText(text), pattern))),
  );
  if (command !== undefined) return { text: plainText(command), asCommand: true };
  const text = further ?? (source.search(pattern) >= 0 ? source : null);
  return text === null ? null : { text, asCommand: false };
}

function beginOf(text: string, pattern: RegExp): string {
  const match = pattern.exec(text);
  return match?.index === 0 ? match[0] : '';
}

const MAX_BEHIND = 50;

/**
 * Returns the commands that an unknown program may run: its words from each of them on, and a text after `-c` or `-e`. The
 * bare name of a program does not count: `brew install docker`.
 */
function commandsBehind({ command, words }: NamedWords): ShellCommand[] {
  const { argv } = command;
  return argv.slice(0, MAX_BEHIND).flatMap((word, index) => {
    if (index === 0 || !words.includes(word)) return [];
    const isText = isForCodeOption(word, command);
    const run = isText ? word.template.split(/[\s;&|]+/).map((text) => wordOf(text)) : argv.slice(index);
    const starts = isText ? run.keys() : /\s/.test(word.template) ? [] : [0];
    return [...starts].map((at) => ({ ...command, name: basenameOf(run[at]?.template ?? ''), argv: run.slice(at) }));
  });
}

function commandsOf(reading: ShellReading): ShellCommand[] {
  return [...reading.commands, ...reading.opened];
}

/** Returns the rule that forbids one of the contract's own commands, or null. Only rules about commands apply. */
export function evaluateEvidence(run: string, directory: string, rules: Guardrails): string | null {
  if (rules.blockCommands.length === 0 && rules.shellAllow === null) return null;
  const reading = readShellCommand(run, { cwd: directory, home: homedir() });
  // An allowlist cannot approve a command that was not read.
  const unread = reading.undecidable.some(({ kind }) => /^(parse-error|too-large|too-deep)$/.test(kind));
  if (unread && rules.shellAllow !== null) return ALLOWLIST;
  return evaluateCommandRules(run, reading, rules, FOLDS_CASE)?.rule ?? null;
}

/** Programs that the allowlist ignores in favour of the command that they start. */
const TRANSPARENT = new Set(['env', 'timeout', 'nice', 'time', 'nohup', 'command']);

/** Compiles a pattern of the contract. Throws a SyntaxError that names it. */
function compiled(pattern: string, whole = false): RegExp {
  try {
    return compilePattern(pattern, whole);
  } catch (error) {
    throw new SyntaxError(`Invalid pattern ${pattern}: ${(error as Error).message}`, { cause: error });
  }
}

/** Pattern for variables that do not redirect a program to another one. */
const HARMLESS = /^(CI|NODE_ENV|NO_COLOR|FORCE_COLOR|LANG|LC_\w+|TZ|TERM)$/;
/** Pattern for names that no program reads from its environment: variables of this shell only. */
const OWN_VARIABLE = /^(?!npm_|\w*_proxy$)[a-z_]\w*$/;

/** Returns the text of the first command, assignment or redirection that the allowlist does not cover; or null. */
export function firstNotAllowed(allow: readonly string[], reading: ShellReading, projectDir?: string): string | null {
  const patterns = allow.map((pattern) => compiled(pattern, true));
  const matches = (text: string): boolean => patterns.some((pattern) => pattern.test(patternText(text)));
  const alone = reading.assigned.find((text) => {
    const name = text.slice(0, text.indexOf('='));
    return !HARMLESS.test(name) && !OWN_VARIABLE.test(name) && !matches(text);
  });
  if (alone !== undefined) return alone;
  // The pattern for docker covers what docker runs.
  const outside = reading.commands.filter(({ via }) => !via.includes('docker') && !via.includes('podman'));
  const isTransparent = ({ path, argv }: ShellCommand): boolean =>
    TRANSPARENT.has(path) && !hasOption(splitOptions(argv.slice(1), '-u -C --chdir', true), '-C', '--chdir');
  const commands = [...outside, ...reading.opened.filter((command) => !isTransparent(command))];
  for (const command of commands) {
    const set = command.assignments.filter(({ name }) => !HARMLESS.test(name));
    const text = [...set.map(({ name, value }) => `${name}=${value ?? '\0'}`), plainText(command)].join(' ');
    // A program name with a space would be mistaken for a program with arguments.
    if (/\s/.test(command.path) || !matches(text)) return text;
  }
  const elsewhere = [...reading.writes.filter(({ how }) => how === 'redirect'), ...reading.reads].find(
    (use) => !mayRedirect(use, projectDir),
  );
  return elsewhere === undefined ? null : `a redirection to ${elsewhere.word.source}`;
}

/** Returns whether a redirection is allowed: below the project, to /dev/null and into the system's temporary folder. */
function mayRedirect({ how, word, cwdTemplate }: FileAccess, projectDir: string | undefined): boolean {
  if (/^\/dev\/(tcp|udp)\//.test(word.template)) return false;
  if (how !== 'redirect' || /^\/dev\/(null|stdout|stderr|tty|fd\/\d)$/.test(word.template)) return true;
  // A target known only at run time is evaluated separately.
  if (word.text === null) return true;
  const path = realPath(posix.resolve(cwdTemplate, word.text));
  const isBelow = (folder: string): boolean => path.startsWith(`${realPath(folder)}/`);
  if (isBelow(projectDir ?? cwdTemplate)) return !/\/\.git(\/|$)/.test(path);
  return isBelow(tmpdir()) || isBelow('/tmp');
}

/** Maximum length of a rule's name; longer patterns are cut. */
const MAX_NAME = 80;

/** Returns a rule as written in the frontmatter, for messages and the journal. */
function shownRule(rule: CommandRule): string {
  if (typeof rule === 'string') return excerpt(rule, MAX_NAME);
  if ('pipeline' in rule) return `{pipeline: [${rule.pipeline.map(shownWord).join(', ')}]}`;
  const args = rule.args.length === 0 ? '' : `, args: [${rule.args.map(shownWord).join(', ')}]`;
  return `{command: ${shownWord(rule.command)}${args}}`;
}

function shownWord(word: string): string {
  return /^[\w./*|-]+$/.test(word) ? word : JSON.stringify(word);
}
