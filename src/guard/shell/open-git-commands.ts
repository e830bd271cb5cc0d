import type { Call } from './call.ts';
import { gitWords } from './git-words.ts';
import type { ShellWord } from './shell-reading.ts';
import { splitOptions } from './split-options.ts';
import type { Walk } from './walk.ts';

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
