import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { type Answer, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

const COMMANDS = [
  'status',
  'status --json',
  'list',
  'explain',
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

const withoutTimes = (said: unknown): string => String(said).replaceAll(/\d+(?= ?m?s\b)|[\d-]+[T ][\d:.]+Z?/g, '');
