import { homedir, tmpdir } from 'node:os';
import { posix } from 'node:path';
import type { CommandRule, Guardrails } from '../../engine/schema/contract.ts';
import { compilePattern, patternText } from '../../text/pattern.ts';
import { excerpt } from '../../text/quote.ts';
import { FOLDS_CASE, realPath } from '../comparable-path.ts';
import { type Denial, deny } from '../guard.ts';
import { allowlistDenied, commandDenied, slowPatternDenied } from '../messages.ts';
import { matchesGlob } from '../shell/glob.ts';
import { readShellCommand } from '../shell/read-shell-command.ts';
import type { FileAccess, NamedWords, ShellCommand, ShellReading, ShellWord } from '../shell/shell-reading.ts';
import {
  basenameOf,
  hasKnownOptions,
  hasOption,
  isForCodeOption,
  literal,
  namedWords,
  programName,
  splitOptions,
  subcommandWords,
  wordOf,
} from '../shell/words.ts';
import { PATTERN_LIMIT_MS, withinTime } from './within-time.ts';

const ALLOWLIST = 'shell_policy.allowlist';

type CommandRules = Pick<Guardrails, 'blockCommands' | 'shellAllow'>;

/**
 * Evaluates a command by the allowlist, then by `block_commands`. All patterns together have 50 ms; when that is used up,
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

/** Returns the text in which a rule was found, or null; `asCommand`: it is certainly the command itself. */
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

/** Returns a match of a pattern. One that is not at the beginning may be in a message, which the denial mentions. */
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
 * Returns the commands that an unknown program may run: its words from each of them on, and a text after `-c` or `-e`. A
 * program's bare name does not count: `brew install docker`.
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
  // An allowlist cannot approve a command that was not read completely.
  const unread = reading.undecidable.some(({ kind }) => /^(parse-error|too-large|too-deep)$/.test(kind));
  if (unread && rules.shellAllow !== null) return ALLOWLIST;
  return evaluateCommandRules(run, reading, rules, FOLDS_CASE)?.rule ?? null;
}

/** Programs that the allowlist ignores in favour of the command they start. */
const TRANSPARENT = new Set(['env', 'timeout', 'nice', 'time', 'nohup', 'command']);

/** Compiles a pattern of the contract. Throws a SyntaxError that names it. */
function compiled(pattern: string, whole = false): RegExp {
  try {
    return compilePattern(pattern, whole);
  } catch (error) {
    throw new SyntaxError(`Invalid pattern ${pattern}: ${(error as Error).message}`, { cause: error });
  }
}

/** Pattern for variables that cannot make a command run another program. */
const HARMLESS = /^(CI|NODE_ENV|NO_COLOR|FORCE_COLOR|LANG|LC_\w+|TZ|TERM)$/;
/** Pattern for names that no program reads from its environment, only this shell. */
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
    // A program name with a space would look like a program with arguments.
    if (/\s/.test(command.path) || !matches(text)) return text;
  }
  const elsewhere = [...reading.writes.filter(({ how }) => how === 'redirect'), ...reading.reads].find(
    (use) => !mayRedirect(use, projectDir),
  );
  return elsewhere === undefined ? null : `a redirection to ${elsewhere.word.source}`;
}

/** Returns whether a redirection is allowed: below the project, to /dev/null or into the system's temporary folder. */
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

type PreciseRule = Exclude<CommandRule, string>;
type SimpleRule = Extract<PreciseRule, { command: string }>;
type PipelineRule = Extract<PreciseRule, { pipeline: string[] }>;

/** `open`: the result depends on a word that is known only at run time. */
type Match = 'yes' | 'no' | 'open';

function matchesSimpleRule(rule: SimpleRule, command: ShellCommand, caseInsensitive: boolean): Match {
  const program = programName(command);
  if (![program, command.name].some((name) => name !== '' && isWanted(rule.command, name, caseInsensitive)))
    return 'no';
  const words = hasKnownOptions(command)
    ? namedWords(command).map((text) => ({ text, skippable: false }))
    : likelyWords(command);
  // `git subtree push` is a push as well.
  const [first, ...rest] = words;
  const inner = program === 'git' && first?.text === 'subtree' ? matchWords(rule.args, rest) : 'no';
  return inner === 'no' ? matchWords(rule.args, words) : inner;
}

/** Returns whether a pipeline runs the programs of `{pipeline}` in this order, possibly with others between them. */
function matchesPipelineRule(
  rule: PipelineRule,
  elements: ShellReading['pipelines'][number],
  caseInsensitive: boolean,
): boolean {
  let next = 0;
  for (const element of elements) {
    const wanted = rule.pipeline[next];
    if (wanted === undefined) break;
    const names = element.map(programName).filter((name) => name !== '');
    if (names.some((name) => isWanted(wanted, name, caseInsensitive))) next += 1;
  }
  return next === rule.pipeline.length;
}

/** Returns whether a word matches `git`, `npm*` or `curl|wget`; ignores a backslash before the bar, as in Markdown tables. */
function isWanted(wanted: string, word: string, caseInsensitive = false): boolean {
  const names = wanted.split('|');
  return names.some((name, index) => {
    const isLast = index === names.length - 1;
    return matchesGlob(!isLast && name.endsWith('\\') ? name.slice(0, -1) : name, word, caseInsensitive);
  });
}

interface NamedWord {
  /** Null if it is known only at run time. */
  readonly text: string | null;
  /** True if it may be the value of the preceding option. */
  readonly skippable: boolean;
}

/** Returns the words of a program with unknown options: a word after an option may be its value or the next argument. */
function likelyWords({ argv }: ShellCommand): NamedWord[] {
  return argv.slice(1).flatMap((word, index) => {
    if (isOption(word.template)) return [];
    const before = index === 0 ? '' : (argv[index]?.template ?? '');
    return [{ text: literal(word), skippable: isOption(before) && !before.includes('=') }];
  });
}

/** Matches in one pass over the words; `reached` holds the numbers of wanted words that may have matched so far. */
function matchWords(wanted: readonly string[], words: readonly NamedWord[]): Match {
  let reached = new Set([0]);
  for (const { text, skippable } of words) {
    if (reached.has(wanted.length)) return 'yes';
    if (reached.size === 0) return 'no';
    if (text === null) return 'open';
    const next = new Set(skippable ? reached : []);
    for (const index of reached) if (isWanted(wanted[index] ?? '', text)) next.add(index + 1);
    reached = next;
  }
  return reached.has(wanted.length) ? 'yes' : 'no';
}

function isOption(text: string): boolean {
  return text.startsWith('-') && text !== '-';
}

const MAX_PAIRS = 400;

/** Returns the words of a simple command without quotes and escapes: the text that an allowlist has to match. */
export function plainText(command: ShellCommand): string {
  return joined(command.argv);
}

/** Returns the texts of a simple command for patterns: `/usr/bin/git -C x push` is also `git -C x push` and `git push`. */
export function commandTexts(command: ShellCommand): string[] {
  const [, ...args] = command.argv;
  const name = programName(command);
  if (command.name === '') return [plainText(command)];
  const texts = [plainText(command), named(command)];
  const words = subcommandWords(command);
  if (words !== null) texts.push([name, joined(words)].join(' ').trim());
  if (name === 'git' && words?.[0]?.template === 'subtree') texts.push(`git ${joined(words.slice(1))}`);
  if (name === 'rm') texts.push(`rm ${withMergedOptions(args)}`);
  return [...new Set(texts)];
}

/** Returns the texts of pipelines for patterns: each as a whole, and any two of its commands, the earlier one first. */
function pipelineTexts(pipelines: ShellReading['pipelines']): string[] {
  const texts = new Set<string>();
  for (const elements of pipelines) {
    texts.add(elements.map((element) => element.map(named).join('; ')).join(' | '));
    for (const [left, right] of pairsOf(elements)) texts.add(`${named(left)} | ${named(right)}`);
  }
  return [...texts];
}

/** Yields each command with each one of a later element, the nearest element first. */
function* pairsOf(elements: ShellReading['pipelines'][number]): Generator<readonly [ShellCommand, ShellCommand]> {
  let left = MAX_PAIRS;
  for (let distance = 1; distance < elements.length; distance += 1) {
    for (let at = 0; at + distance < elements.length; at += 1) {
      for (const first of elements[at] ?? []) {
        for (const second of elements[at + distance] ?? []) {
          yield [first, second];
          left -= 1;
          if (left === 0) return;
        }
      }
    }
  }
}

/** Returns the command with the bare name of its program; one known only at run time stays unknown. */
function named(command: ShellCommand): string {
  if (command.name === '') return plainText(command);
  return [command.name, joined(command.argv.slice(1))].join(' ').trim();
}

/** Merges options: `rm -r --force x` becomes `rm -rf x`. Users mostly block options of rm. */
function withMergedOptions(args: readonly ShellWord[]): string {
  const split = splitOptions(args, '');
  const letters = [
    hasOption(split, '-r', '-R', '--recursive') ? 'r' : '',
    hasOption(split, '-f', '--force') ? 'f' : '',
  ].join('');
  return [letters === '' ? '' : `-${letters}`, joined(split.operands)].join(' ').trim();
}

function joined(words: readonly ShellWord[]): string {
  return words.map((word) => word.template).join(' ');
}
