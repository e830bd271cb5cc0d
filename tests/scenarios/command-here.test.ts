import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { test } from 'node:test';
import { loopFiles } from '../../src/state/loop-files.ts';
import { commandHere } from '../support/command-here.ts';
import { type Answer, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

const COMMANDS = [
  'status',
  'status --json',
  'list',
  'explain',
  'explain --json',
  'explain b',
  'status a',
  'undo --dry-run',
  'draft a --json',
  'draft',
  'scaffold a',
  'router status',
  'tdd init --consent',
  'logs',
  'archive --json',
  'archive none',
  'check other',
  'config',
  'tdd status',
  'tdd next',
  'reset --loop a/b',
];

test('a command in the process of a test answers as the program does, in the same words', async (t) => {
  const p = project(t);
  p.write('a/RALPH.md', '---\nvalidation: ["true"]\n---\nDo the work.\n');
  p.write('other/RALPH.md', '---\nmax_iterations: none\n---\nDo the work.\n');
  const begun = p.ralph(['start', '--task', 'a']);
  assert.equal(begun.code, 0, begun.stderr);
  for (const words of someOf(COMMANDS, 3)) {
    const told = ({ code, stdout, stderr }: Answer): object =>
      Object.fromEntries(Object.entries({ code, stdout, stderr }).map(([key, said]) => [key, withoutTimes(said)]));
    const here = await commandHere(p, words.split(' '));
    assert.deepEqual(told(here), told(p.ralph(words.split(' '))), words);
  }
});

test('a command in the process of a test sets up its own folder, and knows no home but that of the project', async (t) => {
  const p = project(t);
  const [before, home] = [JSON.stringify(process.env), homedir()];
  p.write('../.claude/ralph/PROMPT.md', 'a project above');
  assert.equal((await commandHere(p, ['init'])).code, 0);
  assert.ok(p.has('.claude/ralph/.install.json'), 'as the program does');
  p.write('../home/.npmrc', 'script-shell=/bin/sh\n');
  const list = ['tdd', 'init', '--scenario', 'x', '--command', 'npm test', '--fresh'];
  const { scenarios } = loopFiles(p.dir, null, p.env);
  const pins = (): unknown => (JSON.parse(readFileSync(scenarios, 'utf8')) as { scripts: unknown }).scripts;
  assert.equal((await commandHere(p, list)).code, 0);
  const here = pins();
  assert.match(JSON.stringify(here), /"~\/\.npmrc[^"]*":"[0-9a-f]{64}"/);
  assert.equal(p.ralph(list).code, 0);
  assert.deepEqual(here, pins());
  assert.deepEqual([JSON.stringify(process.env), homedir()], [before, home]);
});

const withoutTimes = (said: unknown): string => String(said).replaceAll(/\d+(?= ?m?s\b)|[\d-]+[T ][\d:.]+Z?/g, '');
