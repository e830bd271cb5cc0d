import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Command, parseOptions } from '../../../src/cli/command.ts';
import { COMMANDS } from '../../../src/cli/commands.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** What users and agents read. */
const TEXTS = [
  ...['README.md', 'SKILL.md', 'CHANGELOG.md', 'CONTRIBUTING.md'],
  ...readdirSync(join(root, 'docs')).flatMap((name) => (name.endsWith('.md') ? [join('docs', name)] : [])),
  ...['references', 'rules', 'skills', 'templates'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((path) => /\.(?:md|sh|bat)$/.test(path)),
  ),
];

/** The first words that these commands take, where they take few. */
const ACTIONS: Readonly<Record<string, readonly string[]>> = {
  router: ['start', 'next', 'report', 'status'],
  tdd: ['init', 'next', 'red', 'green', 'refactored', 'status'],
  plan: ['check'],
  worktree: ['list', 'remove'],
};

const LAUNCHER = /^(?:exec )?\.claude[/\\]ralph[/\\]ralph-audit\.(?:sh|bat)(?= |$)/;
const MAIN = /^(?:(?:node )?(?:\S*[/\\])?main\.cjs|ralph-loop)(?= |$)/;

const names = Object.keys(COMMANDS);

async function commandOf(name: string): Promise<Command> {
  const load = COMMANDS[name];
  assert.ok(load, `there is no command ${name}`);
  const command = await load();
  assert.equal(command.name, name);
  return command;
}

/** Every command line of a text, as it stands there: in inline code, in code blocks, and behind `run:` or a bullet. */
function commandLines(text: string): string[] {
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code.replaceAll('\\|', '|'));
  const lines = codeLines(text.replace(/ \\\n\s*/g, ' '))
    .map((line) => line.replace(/^(?:\s{2,}|#\s+|- |rem )(?:- run: |run: )?/, ''))
    .filter((line) => LAUNCHER.test(line) || MAIN.test(line));
  return [...spans, ...lines.map(withoutComment)];
}

/** The lines of a text, without those that begin with the program's name as a word of a sentence. */
function codeLines(text: string): string[] {
  let fenced = false;
  return text.split('\n').filter((line) => {
    if (/^ *```/.test(line)) fenced = !fenced;
    return fenced || !/^ {0,3}ralph-loop /.test(line);
  });
}

/** What explains a command stands some spaces behind it. */
function withoutComment(line: string): string {
  return line.replace(/ {2,}.*$/, '').replace(/ #.*$/, '');
}

/** The words of what main.cjs is called with; null where the text is no command. */
function words(line: string): string[] | null {
  const known = new RegExp(`^(?:${names.join('|')})(?= |$)`);
  const called = LAUNCHER.test(line)
    ? `start --launch${line.replace(LAUNCHER, '')}`
    : MAIN.test(line)
      ? line.replace(MAIN, '').trim()
      : known.test(line)
        ? line
        : '';
  if (called === '' || /^(?:COMMAND|--loop)/.test(called)) return null;
  const plain = called.replace(/\[(--? CLIENT OPTIONS|[^\]]*)\]/g, '$1').replace(/,( |$)/g, '$1');
  return (plain.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^(["'])(.*)\1$/, '$2'));
}

/** What is wrong with a command line as main.cjs would read it; null where it is accepted. */
async function problemWith([name = '', ...args]: readonly string[]): Promise<string | null> {
  const command = await commandOf(name);
  // `run --agent` names an option and leaves its value out.
  const last = args.at(-1)?.match(/^--([\w-]+)$/)?.[1] ?? '';
  const named = command.options?.[last]?.type === 'string' ? [...args, 'VALUE'] : args;
  const { problem, positionals } = parseOptions(command, named);
  if (problem !== null) return problem;
  const actions = ACTIONS[name];
  const [action] = positionals;
  const unknown =
    actions !== undefined && action !== undefined && !/^[A-Z]+$/.test(action) && !actions.includes(action);
  return unknown ? `${name} has no ${action}` : null;
}

for (const path of TEXTS) {
  test(`main.cjs accepts every command line in ${path}`, async () => {
    for (const line of commandLines(read(path))) {
      const called = words(line);
      if (called !== null) assert.equal(await problemWith(called), null, line);
    }
  });
}

test('finds the command lines in every document', () => {
  const found = TEXTS.flatMap((path) => commandLines(read(path)).filter((line) => words(line) !== null));
  assert.ok(found.length > 250, String(found.length));
  assert.ok(TEXTS.length > 20, TEXTS.join(' '));
  for (const wanted of [
    /ralph-audit\.sh --headless --permission-mode acceptEdits --max/,
    /run PLAN --plan/,
    /tdd init/,
  ]) {
    assert.ok(
      found.some((line) => wanted.test(line)),
      String(wanted),
    );
  }
});

test('control: finds a command, an action and an option that do not exist', async () => {
  for (const line of ['main.cjs status --lop NAME', 'main.cjs router begin', 'main.cjs signs docs', 'start --tsk x']) {
    assert.notEqual(await problemWith(words(line) ?? []), null, line);
  }
  await assert.rejects(problemWith(words('node x/main.cjs strat') ?? []), /no command strat/);
});
