import type { Call } from './call.ts';
import { fileKey } from './file-key.ts';
import type { Walk } from './walk.ts';
import { literalOrNull, report } from './walk.ts';

/** Options that bring code with them, for each interpreter. */
const CODE_OPTIONS: ReadonlyArray<readonly [RegExp, RegExp]> = [
  [/^(node|nodejs|bun|tsx|ts-node)$/, /^(-e|-p|-pe|--eval|--print)$|^--(?:eval|print)=/],
  [/^deno$/, /^(eval|-e|--eval)$/],
  [/^(python|pypy)[\d.]*$/, /^-[a-zA-Z]*c$|^-c/],
  [/^perl[\d.]*$/, /^-[a-zA-Z0-9]*[eE]/],
  [/^ruby[\d.]*$/, /^-[a-zA-Z]*e/],
  [/^(lua|Rscript|osascript|julia|swift|elixir|scala|groovy)[\d.]*$/, /^(-e|-E)$/],
  [/^php[\d.]*$/, /^-[rBRE]$/],
];
const AWK = /^(g|m|n)?awk$/;
/** They run what they are told in a language of their own, or later. */
const TOLD = /^(ed|ex|vi|vim|nvim|emacs|sqlite3|tmux|screen|at|batch)$/;

/** Reports code that is handed to an interpreter: this parser does not read it. */
export function openInterpreter(call: Call, name: string, walk: Walk): void {
  const args = call.words.slice(1);
  const say = (text: string): void =>
    report(walk, 'interpreter-code', text, call.position, literalOrNull(call.world.cwd));
  if (AWK.test(name)) {
    const program = args.find((word) => /[{}]/.test(word.template))?.template ?? '';
    if (/system\s*\(|\||>|getline/.test(program)) say(program);
    return;
  }
  if (/^g?sed$/.test(name)) {
    // GNU sed writes files by `w FILE` and runs commands by `e`.
    const writing = args.find((word) => /(^|[;{}/\d$\s])[we]\s+\S|\/[gpi\d]*w\s+\S/.test(word.template));
    if (writing !== undefined) say(writing.template);
    return;
  }
  const entry = CODE_OPTIONS.find(([names]) => names.test(name));
  if (entry === undefined) {
    const told = TOLD.test(name) || (/^(make|gmake|crontab)$/.test(name) && args.some((word) => word.template === '-'));
    if (told) say([...args.map((word) => word.template), call.stdin.text].join('\n'));
    return;
  }
  const at = args.findIndex((word) => entry[1].test(word.template));
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
