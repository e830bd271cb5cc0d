import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Finds names of tests that are too long, and tests without an assertion: neither the test nor a function of its file that it calls uses `assert`.
 * It relies on the formatter, by which a statement ends in the first line that is indented like its own first line and
 * closes it. Prints one line a test, exit code 1.
 */
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const STATEMENT =
  /^( *)(?:(?:await |return )?((?:test|it)\b)|(?:export )?(?:async )?(?:function\*? |class )(\w+)|(?:export )?const (\w+) = (?:async )?(?:<|\(|\w+ =>))/;
const TITLE = /\(\s*(?:`([^`]*)`|'((?:[^'\\]|\\.)*)'|"([^"]*)")/;
const NAMED =
  /\b(?:test|longTest|it|some|step|confinedTest)\(\s*(?:`((?:[^`\\\n]|\\.)*)`|'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)")/g;
const NAME_LIMIT = 100;
const ASSERTION = /\bassert(?:\w*\(|\.|'\))|\bthrow new Error/;

interface Statement {
  readonly file: string;
  readonly line: number;
  readonly name: string | null;
  readonly text: string;
}

const files = readdirSync(join(root, 'tests'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => join(root, 'tests', path));
const problems = files.flatMap((file) => {
  const statements = statementsOf(file);
  const functions = assertingFunctions(statements);
  return statements.filter(({ name, text }) => name === null && !asserts(text, functions));
});
for (const { file, line, text } of problems) {
  const [, ...titles] = TITLE.exec(text) ?? [];
  const title = titles.find((one) => one !== undefined) ?? text.split('\n', 1)[0];
  console.error(`${relative(root, file)}:${line}: the test "${title}" has no assertion`);
}
const long = files.flatMap(longNames);
for (const { file, name } of long)
  console.error(`${relative(root, file)}: the name of a test has more than ${NAME_LIMIT} characters: ${name}`);
if (problems.length + long.length > 0) process.exit(1);

/** Names that are too long; what is filled in counts as one character. */
function longNames(file: string): { file: string; name: string }[] {
  return [...readFileSync(file, 'utf8').matchAll(NAMED)]
    .map(([, ...names]) => (names.find((name) => name !== undefined) ?? '').replace(/\$\{[^}]*\}/g, '…'))
    .filter((name) => name.length > NAME_LIMIT)
    .map((name) => ({ file, name }));
}

function statementsOf(file: string): Statement[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((first, index) => {
    const match = STATEMENT.exec(first);
    if (match === null) return [];
    const [, indent = '', isTest, declared, name = declared ?? ''] = match;
    // A function that is named as `it` or `test` are called, or an options object, is no test.
    if (isTest !== undefined && !/\b(?:test|it)(?:\.\w+)?\(/.test(first)) return [];
    const end = first.endsWith(';') ? index : lines.findIndex((line, at) => at > index && closes(line, indent));
    const text = lines.slice(index, (end === -1 ? lines.length : end) + 1).join('\n');
    return [{ file, line: index + 1, name: isTest === undefined ? name : null, text }];
  });
}

function closes(line: string, indent: string): boolean {
  return line.startsWith(indent) && /^[\])}].*;$|^\}$/.test(line.slice(indent.length));
}

/** Functions of one file that assert, or that call one of that file which does. */
function assertingFunctions(statements: readonly Statement[]): Set<string> {
  const found = new Set<string>();
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const { name, text } of statements) {
      if (name !== null && asserts(text, found)) found.add(name);
    }
  }
  return found;
}

function asserts(text: string, functions: ReadonlySet<string>): boolean {
  return ASSERTION.test(text) || (text.match(/\b\w+\b(?=[(,)])/g) ?? []).some((word) => functions.has(word));
}
