import type { Call } from './call.ts';
import { fileKey } from './file-key.ts';
import type { Walk } from './walk.ts';
import { literalOrNull, report } from './walk.ts';

const NODE = /^(-e|-p|-pe|--eval|--print)$|^--(?:eval|print)=/;
const EVAL = /^(-e|-E)$/;

/** Options that bring code with them, for each interpreter that bears this very name. */
const CODE_OPTIONS = new Map([
  ...['node', 'nodejs', 'bun', 'tsx', 'ts-node'].map((name) => [name, NODE] as const),
  ['deno', /^(eval|-e|--eval)$/],
]);
/** The same for those whose name may end in a version: `python3.12`. */
const CODE_OPTIONS_OF_VERSIONS = new Map([
  ...['python', 'pypy'].map((name) => [name, /^-[a-zA-Z]*c$|^-c/] as const),
  ['perl', /^-[a-zA-Z0-9]*[eE]/],
  ['ruby', /^-[a-zA-Z]*e/],
  ...['lua', 'Rscript', 'osascript', 'julia', 'swift', 'elixir', 'scala', 'groovy'].map(
    (name) => [name, EVAL] as const,
  ),
  ['php', /^-[rBRE]$/],
]);
const AWK = new Set(['awk', 'gawk', 'mawk', 'nawk']);
/** They run what they are told in a language of their own, or later. */
const TOLD = new Set(['ed', 'ex', 'vi', 'vim', 'nvim', 'emacs', 'sqlite3', 'tmux', 'screen', 'at', 'batch']);
/** The same, where `-` is an argument. */
const TOLD_BY_DASH = new Set(['make', 'gmake', 'crontab']);

/** Reports code that is handed to an interpreter: this parser does not read it. */
export function openInterpreter(call: Call, name: string, walk: Walk): void {
  const args = call.words.slice(1);
  const say = (text: string): void =>
    report(walk, 'interpreter-code', text, call.position, literalOrNull(call.world.cwd));
  if (AWK.has(name)) {
    const program = args.find((word) => /[{}]/.test(word.template))?.template ?? '';
    if (/system\s*\(|\||>|getline/.test(program)) say(program);
    return;
  }
  if (name === 'sed' || name === 'gsed') {
    // GNU sed writes files by `w FILE` and runs commands by `e`.
    const writing = args.find((word) => /(^|[;{}/\d$\s])[we]\s+\S|\/[gpi\d]*w\s+\S/.test(word.template));
    if (writing !== undefined) say(writing.template);
    return;
  }
  const option = CODE_OPTIONS.get(name) ?? CODE_OPTIONS_OF_VERSIONS.get(withoutVersion(name));
  if (option === undefined) {
    const told = TOLD.has(name) || (TOLD_BY_DASH.has(name) && args.some((word) => word.template === '-'));
    if (told) say([...args.map((word) => word.template), call.stdin.text].join('\n'));
    return;
  }
  const at = args.findIndex((word) => option.test(word.template));
  const operand = args.find((word) => !word.template.startsWith('-'));
  if (at !== -1) {
    // `perl -pe CODE FILE` filters the file; any other code can do what it likes with its arguments.
    const flags = args.filter((word) => /^-[a-zA-Z0-9]+$/.test(word.template)).map((word) => word.template);
    const filters =
      /^(perl|ruby)/.test(name) && flags.some((flag) => /[np]/.test(flag)) && !flags.some((flag) => /i/.test(flag));
    say((filters ? args.slice(0, at + 2) : args).map((word) => word.template).join('\n'));
  } else if ((operand === undefined || args.some((word) => word.template === '-')) && call.stdin.kind !== 'none')
    say(call.stdin.text);
  else if (operand?.content !== undefined) say(operand.content);
  else if (operand !== undefined) {
    const written = call.world.files.get(fileKey(operand.template, call.world));
    if (written !== undefined) say(written);
  }
}

function withoutVersion(name: string): string {
  let end = name.length;
  while ('0123456789.'.includes(name.charAt(end - 1) || ' ')) end -= 1;
  return name.slice(0, end);
}
