import { addPathUses } from '../file-access/record-file-access.ts';
import { basenameOf, gitWords, isShell } from '../program-words.ts';
import { type PathUse, type ShellWord, UNKNOWN } from '../shell-reading.ts';
import {
  type Call,
  fileKey,
  literalOrNull,
  type Outcome,
  report,
  SILENT,
  spend,
  UNKNOWN_STREAM,
  type ValueWord,
  type Walk,
  type World,
} from '../shell-state.ts';
import { unwrap } from '../unwrap/unwrap.ts';
import { splitOptions } from '../words.ts';
import { literalOutput } from './literal-output.ts';
import { openInterpreter, openShell, recordCommand, recordOpened } from './open-shell.ts';
import { runBuiltin } from './run-builtin.ts';

/** `sudo env nice …`: more of them on one another is no command that a person writes. */
const MAX_WRAPPERS = 20;

/** Follows a command to what it really runs: functions, builtins, wrappers, shells; the innermost one is recorded. */
export function openCommand(call: Call, walk: Walk): Outcome {
  const first = call.words[0];
  if (first === undefined) return { worlds: [call.world], output: SILENT };
  if (walk.via.length > MAX_WRAPPERS) report(walk, 'too-deep', call.source, call.position, null);
  if (walk.via.length > MAX_WRAPPERS || !spend(walk, call.position)) {
    return { worlds: [call.world], output: UNKNOWN_STREAM };
  }
  const name = basenameOf(first.template);
  if (name.includes(UNKNOWN) || name === '' || (first.glob === true && name !== '[')) {
    report(walk, 'dynamic-command', call.source, call.position, literalOrNull(call.world.cwd));
    recordCommand(call, '', walk);
    return { worlds: [call.world], output: UNKNOWN_STREAM };
  }
  return (
    callFunction(call, walk) ??
    callBuiltin(call, name, walk) ??
    openWrapped(call, name, walk) ??
    (isShell(name) ? openShell(call, name, walk) : undefined) ??
    openWrittenScript(call, walk) ??
    runPlain(call, name, walk)
  );
}

function runPlain(call: Call, name: string, walk: Walk): Outcome {
  openInterpreter(call, name, walk);
  if (name === 'git') openGitCommands(call, walk);
  const command = recordCommand(call, name, walk);
  const before = walk.facts.writes.length;
  addPathUses(command, call, walk);
  const world = withWrittenFiles(call, name, walk.facts.writes.slice(before));
  return { worlds: [world], output: literalOutput(call, name) };
}

function callBuiltin(call: Call, name: string, walk: Walk): Outcome | undefined {
  const outcome = runBuiltin(call, name, walk);
  if (outcome !== undefined) recordOpened(call, name, walk);
  return outcome;
}

function openWrapped(call: Call, name: string, walk: Walk): Outcome | undefined {
  const opened = unwrap(call, name);
  if (opened === undefined) return undefined;
  const inner = { ...walk, via: [...walk.via, name], depth: walk.depth + 1 };
  // What a wrapper reads or writes by itself (find -delete, xargs -a, flock FILE) is recorded with the wrapper.
  if (opened.keepsItself) addPathUses(recordCommand(call, name, walk), call, walk);
  else recordOpened(call, name, walk);
  let outcome: Outcome = { worlds: [call.world], output: UNKNOWN_STREAM };
  for (const next of opened.next) {
    outcome =
      next.kind === 'call'
        ? openCommand(next.call, inner)
        : walk.text(next.text, [call.world], call.stdin, { ...inner, position: walk.position ?? call.position });
    if (next.kind === 'text' && next.text.includes(UNKNOWN)) {
      report(walk, 'dynamic-command', call.source, call.position, literalOrNull(call.world.cwd));
    }
  }
  return { worlds: [call.world], output: opened.next.length === 1 ? outcome.output : UNKNOWN_STREAM };
}

function callFunction(call: Call, walk: Walk): Outcome | undefined {
  const body = call.world.functions.get(call.words[0]?.template ?? '');
  if (body === undefined || walk.depth > 20) return undefined;
  const positional: ValueWord[] = call.words.slice(1).map(({ template, pattern, under }) => ({
    template,
    ...(pattern === undefined ? {} : { pattern }),
    ...(under === undefined ? {} : { under }),
  }));
  const inner = { ...walk, depth: walk.depth + 1 };
  const functions = new Map(call.world.functions);
  if (body.kind === 'alias') functions.delete(call.words[0]?.template ?? '');
  else walk.facts.called.add(body.node);
  const world = { ...call.world, positional, functions };
  const outcome =
    body.kind === 'alias'
      ? walk.text(`${body.text} "$@"`, [world], call.stdin, { ...inner, position: walk.position ?? call.position })
      : walk.node(body.node, [world], call.stdin, { ...inner, source: body.source });
  return {
    ...outcome,
    worlds: outcome.worlds.map((each) => ({
      ...each,
      positional: call.world.positional,
      // What the body defined stays defined.
      functions: new Map([...call.world.functions, ...each.functions]),
    })),
  };
}

/** `./x.sh` that this very command wrote with known content. */
function openWrittenScript(call: Call, walk: Walk): Outcome | undefined {
  const path = call.words[0]?.template ?? '';
  if (!path.includes('/')) return undefined;
  const content = call.world.files.get(fileKey(path, call.world));
  if (content === undefined || /^#!(?!.*sh\b)/.test(content)) return undefined;
  recordCommand(call, basenameOf(path), walk);
  return openShell({ ...call, words: [{ text: 'sh', template: 'sh', source: 'sh' }, ...call.words] }, 'sh', walk);
}

/**
 * The world after a command that leaves content in files which the same command line may run: what it loads from the
 * network is known only at run time, what `tee` gets may be known.
 */
export function withWrittenFiles(call: Call, name: string, writes: readonly PathUse[]): World {
  const { world } = call;
  if (name !== 'curl' && name !== 'wget' && name !== 'tee') return world;
  const content = name === 'tee' && call.stdin.kind !== 'none' ? call.stdin.text : UNKNOWN;
  const files = new Map(world.files);
  for (const { target } of writes) if (target !== null) files.set(fileKey(target, world), content);
  return { ...world, files };
}

/**
 * Reads what git itself is told to run: an alias or a program given by -c or by a variable, `rebase -x`,
 * `submodule foreach`, `bisect run`, `difftool -x`.
 */
export function openGitCommands(call: Call, walk: Walk): void {
  const inner = { ...walk, via: [...walk.via, 'git'], position: walk.position ?? call.position };
  for (const text of textsOf(call)) walk.text(text, [call.world], call.stdin, inner);
}

/** Settings whose value git runs. */
const PROGRAM_KEYS =
  /^(core\.(pager|editor|fsmonitor|sshcommand|askpass|alternaterefscommand|gitproxy)|sequence\.editor|diff\.external|interactive\.difffilter|credential(\..*)?\.helper|gpg(\..*)?\.program|pager\..*|(diff|merge)tool\..*\.cmd|merge\..*\.driver|diff\..*\.(command|textconv)|filter\..*\.(clean|smudge|process)|man\..*\.cmd|browser\..*\.cmd|trailer\..*\.(command|cmd)|uploadpack\.packobjectshook|sendemail\..*cmd)$/;
const PROGRAM_VARIABLES =
  /^(GIT_(PAGER|EDITOR|SEQUENCE_EDITOR|SSH_COMMAND|SSH|EXTERNAL_DIFF|ASKPASS|PROXY_COMMAND)|PAGER|EDITOR|VISUAL)$/;

/** One word is a text for a shell; several are a command with its words. */
function oneText(words: readonly string[]): string {
  const [first = ''] = words;
  return words.length === 1 ? first : words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
}

function textsOf(call: Call): string[] {
  const { words, aliased, settings } = gitWords(call.words, call.world.variables);
  const programs = [...settings].flatMap(([key, value]) => (PROGRAM_KEYS.test(key) ? [value] : []));
  for (const { name, words: values } of call.assignments) {
    if (PROGRAM_VARIABLES.test(name)) programs.push(values[0]?.template ?? '');
  }
  const told = programs.map((text) => text.replace(/^!/, ''));
  if (aliased?.startsWith('!')) return [...told, aliased.slice(1)];
  // An alias that the environment brings is no word of the command: what it stands for is read as one.
  const meant = aliased === undefined ? [] : [oneText(['git', ...words.map((word) => word.template)])];
  return [...told, ...meant, ...subcommandTexts(words)];
}

function subcommandTexts([subcommand, ...args]: readonly ShellWord[]): string[] {
  const texts = args.map((word) => word.template);
  switch (subcommand?.template) {
    case 'rebase':
      return splitOptions(args, '-x --exec').options.flatMap(({ name, value }) =>
        /^(-x|--exec)$/.test(name) && value !== undefined ? [value.template] : [],
      );
    case 'filter-branch':
      return texts.flatMap((text, index) => (/^--[a-z-]+-filter$/.test(texts[index - 1] ?? '') ? [text] : []));
    case 'submodule':
      return texts[0] === 'foreach'
        ? [oneText(texts.slice(1).filter((text) => !/^--(recursive|quiet)$/.test(text)))]
        : [];
    case 'bisect':
      return texts[0] === 'run' ? [oneText(texts.slice(1))] : [];
    case 'difftool':
      return splitOptions(args, '-x --extcmd -t --tool').options.flatMap(({ name, value }) =>
        /^(-x|--extcmd)$/.test(name) && value !== undefined ? [value.template] : [],
      );
    case 'config':
      return texts.flatMap((text, index) => {
        const value = texts[index + 1];
        return value !== undefined && PROGRAM_KEYS.test(text.toLowerCase()) ? [value.replace(/^!/, '')] : [];
      });
    default:
      return [];
  }
}
