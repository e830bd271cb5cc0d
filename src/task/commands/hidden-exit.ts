import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { oneLine } from '../../text/quote.ts';
import { commandWords, MAX_SHELL_TEXT } from '../../text/shell/parse-shell.ts';
import { fileRoles } from '../pinned-scripts/file-roles.ts';
import { makeCall } from '../pinned-scripts/makefile.ts';
import { packageScripts, scriptCall } from '../pinned-scripts/package-scripts.ts';

const IDLE = String.raw`(?:true|:|exit\s+0|(?:echo|printf|rm\s+-\w*f)\b(?:[^|&;()<>{}${'`'}\n]|>&\d)*)`;
const ALWAYS_PASSES = new RegExp(
  String.raw`(?:(?:\|\||;|(?<!&&\s*|\\)\n)\s*${IDLE};?|\|\|\s*(?:\{\s*${IDLE};\s*\}|\(\s*${IDLE}\s*\)))\s*$|(?<![&>|])&\s*$`,
);
/** Pattern for a command that cannot fail and checks nothing, such as a heading between others. */
const IS_IDLE = new RegExp(String.raw`^\s*(?:${IDLE}|(?:mkdir -p|cd|export) [^|&;]*|#(?!!).*)?\s*$`);
/** Pattern for what makes a command end early: `grep -r TODO src && exit 1 || true` fails as it should. */
const ENDS_BEFORE = /\bexit\s*(?:[;|}]|\s(?!0\b)\S)|\bset\s(?:[^;&|\n]*\s)?(?:-\w*e|errexit\b)/;
/** Pattern for what another shell or a subshell runs: an `exit` there ends only that. */
const OTHER_SHELL = /\s-\w*c\s+(?:'[^']*'|"(?:[^"\\]|\\.)*")|\([^()]*\)/g;
/** Pattern for a filter at the end. One in a substitution does not matter, nor does `sort -c`, which is a check. */
const FILTER = /(?<!\|)\|&?\s*(tail|head|tee|cat|less|sort(?!\s+-\w*c)|sed|tr|cut|ts)\b[^|&;'"()`\n]*\s*$/i;
const COMMENT = /(?<=^|\s)#[^'"\n]*$/gm;
/** Pattern for words before the program whose exit code counts. */
const WRAPPERS = /^(?:env|time|timeout|nice|command|exec|cross-env|[\d.]+[smh]?|\w+=.*|-.*)$/s;
/** Pattern for what decides without being a program, or returns to another folder. */
const DECIDES_ALONE = /(?:^|[\s;&|(])(?:!\s|\[\[\s|\(\(|\(\s*cd\s[\s\S]*\)\s*\S)/;
/** Pattern for other ways in which a script may end early, by an option or another text. */
const MAY_STOP = /^#!.*\s-\w*e|(?:^|[;&|({]|\b(?:then|do|else)\s)[ \t]*(?:source|\.|trap)\s/m;
const MAX_DEPTH = 10;
const TESTER =
  /^(?:jest|vitest(?: run)?|mocha|ava|playwright|cypress|cucumber-js|py\.?test|tox|nox|rspec|prove|bats|phpunit|pest|ctest|eslint|tsc|vue-tsc|ruff|mypy|pyright|flake8|pylint|black|biome|prettier|oxlint|g?make|just|task|turbo|nx|gradlew?|(?:bun|deno|go|dotnet) test|cargo (?:[+-]\S+ )*(?:t|test|nextest)) /;
/** Options with which a tester only lists, plans or describes; and those that mean this with certain ones. */
const LISTS =
  /^(?:-h|--(?:help|version|list|list-(?:files|reporters|tests\S*|groups|suites)|listTests|listFilesOnly|listenvs|show[cC]onfig|print-config|print-labels|env-info|clearCache|collect-?only|co|fixtures|markers|setup-plan|notest|no-run|summary|just-print|recon|(?:dry|dry-run|graph|show-only)(?:=.*)?))$/;
const LISTS_WITH =
  /^(?:(?:jest|eslint|tsc) -v|mocha -V|py\.?test -V|gradlew? -m|(?:tox|nox) -l|prove -D|bats (?:-[cv]|--count)|ctest -N|(?:g?make|just|task) -[abdehikpqrsvwBS]*n|go test -(?:n|c|list)(?:=.*)?|(?:vitest|cargo nextest) list)$/;
/** Filters that may cut failures from the output in which a runner's tests are counted. */
const CUTS = /^(?:tail|head|sed|cut)$/i;

/**
 * Returns why the exit code of a check says nothing (it always passes, or a filter sets it), and what to do; null if it counts.
 * In a `folder`, the scripts and recipes that the check runs are read as well. With `isCounted`, the tests counted in the
 * output decide, unless a filter cuts it.
 */
export function hiddenExit(written: string, isCounted = false, folder = '', depth = 0): string | null {
  const run = written.replace(COMMENT, '').replace(/\n\s+/g, '\n').trim();
  const mayEnd = ENDS_BEFORE.test(run.replace(OTHER_SHELL, ''));
  const always = isCounted ? null : ALWAYS_PASSES.exec(run);
  const isQuoted = ((always && run.slice(0, always.index).match(/['"]/g)) ?? []).length % 2 === 1;
  if (always !== null && !isQuoted && !mayEnd) return `exits with 0 whatever fails: remove "${oneLine(always[0])}".`;
  const [piped = '', filter] = FILTER.exec(run) ?? [];
  if (filter === undefined || run.includes('pipefail') || (depth > 0 && mayEnd))
    return depth > MAX_DEPTH ? null : hiddenBelow(run, isCounted, folder, depth + 1);
  if (isCounted && !CUTS.test(filter)) return null;
  const or = depth === 0 ? ', or begin with "set -o pipefail;"' : '';
  return `has the exit code of "${filter}", whatever fails before it: remove "${oneLine(piped)}"${or}.`;
}

/** Returns why nothing that a command runs can fail or tests anything; null if something does. */
function hiddenBelow(run: string, isCounted: boolean, folder: string, depth: number): string | null {
  let found: string | null = null;
  let base = folder;
  for (const words of DECIDES_ALONE.test(run) ? [] : commandWords(run)) {
    if (words[0] === 'cd') base = resolve(base, words[1] ?? '');
    if (IS_IDLE.test(words.join(' '))) continue;
    const option = testsNothing(words);
    if (option !== undefined) {
      found ??= `tests nothing with "${option}": remove that.`;
      continue;
    }
    if (folder === '') return null;
    if (isEmptyTypeCheck(words, base)) {
      found ??= 'runs tsc on a tsconfig.json that lists no files: add "-b", which checks its references.';
      continue;
    }
    const script = scriptOf(words, base);
    if (script === null || script.texts.length === 0) return null;
    for (const text of script.texts.filter((each) => !IS_IDLE.test(each))) {
      const mark =
        text.startsWith('-') && !isCounted ? 'ignores what fails: remove the "-" before its commands.' : null;
      const why = mark ?? hiddenExit(text, isCounted, script.folder, depth);
      if (why === null) return null;
      found ??= `runs ${script.name}, which ${why}`;
    }
  }
  return found;
}

/** Returns the option with which a command tests nothing, also behind a wrapper: `npx jest --listTests`. */
function testsNothing(words: readonly string[]): string | undefined {
  const names = words.map((word) => word.replace(/^(?:.*\/)?(?:\.?bin\/|(?=gradlew$))/, ''));
  return names.flatMap((name, at) => {
    const [tester] = TESTER.exec(`${names.slice(at).join(' ')} `) ?? [];
    // What is passed on belongs to another program, except with cargo.
    const end = name === 'cargo' ? -1 : names.indexOf('--', at);
    const own = tester === undefined ? [] : names.slice(at + 1, end === -1 ? undefined : end);
    return own.filter((word) => LISTS.test(word) || LISTS_WITH.test(`${tester}${word}`));
  })[0];
}

/** Without -b or -p, tsc passes over a tsconfig.json whose only content is references. */
function isEmptyTypeCheck(words: readonly string[], folder: string): boolean {
  const call = words.join(' ');
  if (!/^(?:(?:npx|yarn|pnpm(?: exec)?|bunx) )?(?:\S*\/)?(?:vue-)?tsc(?: --?\w+)*$/.test(call)) return false;
  const config = readRegularFile(resolve(folder, 'tsconfig.json')) ?? '';
  return !/ --?(?:b|build|p|project)\b/.test(call) && /"files"\s*:\s*\[\s*\]/.test(config) && !/"include"/.test(config);
}

/** Returns the texts that a command runs, all of which must pass; null if it runs anything else. */
function scriptOf(all: readonly string[], base: string) {
  const words = all.slice(all.findIndex((word) => !WRAPPERS.test(word)));
  const [program = ''] = words;
  const made = /^(?:g?make|just)$/.test(program) ? makeCall(words, base) : null;
  if (made) return made.isPlain ? { name: made.files[0], folder: made.directory, texts: made.recipes } : null;
  const call = /^(?:npm|pnpm|yarn|bun)$/.test(program) ? scriptCall(words) : null;
  if (call !== null) {
    const folder = resolve(base, call.directory ?? '');
    const scripts = packageScripts(folder, 'package.json');
    const passed = /(?<=\s--)(?:\s[\w=.:/-]+)*$/.exec(words.join(' '))?.[0] ?? '';
    const texts = ['pre', '', 'post'].flatMap((when) => scripts[when + call.script] ?? []);
    return {
      name: `the script "${call.script}"`,
      folder,
      texts: texts.map((text) => (/[;&|]/.test(text) ? text : text + passed)),
    };
  }
  const isShell = /^(?:ba|z|da|k)?sh$/.test(program);
  const [name = ''] = isShell ? fileRoles(words, (word) => existsSync(resolve(base, word))).runs : [program];
  const text = /[/.]/.test(name) ? (readRegularFile(resolve(base, name), MAX_SHELL_TEXT) ?? '') : '';
  const mayStop = words.some((word) => /^-\w*e|^errexit$|^pipefail$/.test(word)) || MAY_STOP.test(text);
  const isRead = isShell ? text !== '' || words.includes('-c') : /^#!.*\b(?:ba|z|da|k)?sh\b/.test(text);
  return mayStop || !isRead ? null : { name, folder: base, texts: [text] };
}
