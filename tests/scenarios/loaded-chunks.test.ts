import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { project } from '../support/project.ts';

/** Loaded into node before the program: it notes each chunk of the program that runs. */
const NOTING = `
const fs = require('node:fs');
const open = fs.openSync;
fs.openSync = (path, ...words) => {
  const name = /[\\\\/]ralph-([a-z-]+)\\.cjs$/.exec(String(path))?.[1];
  if (name !== undefined) fs.appendFileSync(process.env.NOTED, name + '\\n');
  return open(path, ...words);
};
`;

test('the help of run, the settings and doctor load nothing that starts a loop', (t) => {
  const p = project(t);
  p.write('../noting.cjs', NOTING);
  const chunksOf = (name: string, ...words: readonly string[]): string[] => {
    const noted = join(p.home, name);
    p.ralph(words, { NODE_OPTIONS: `--require=${join(p.dir, '../noting.cjs')}`, NOTED: noted });
    // doctor also fires the Stop hook, which loads no other chunk.
    return [...new Set(readFileSync(noted, 'utf8').trim().split('\n'))].sort();
  };
  const help = ['base', 'common', 'hooks', 'main', 'rolldown-runtime', 'stop'];
  assert.deepEqual(chunksOf('help', 'run', '--help'), help);
  const settings = [...help, 'git', 'rules', 'session', 'shell', 'task', 'tools'].sort();
  assert.deepEqual(chunksOf('config', 'config'), settings);
  assert.deepEqual(chunksOf('doctor', 'doctor'), settings);
  const run = chunksOf('run', 'run', '--dry-run');
  for (const chunk of ['commands', 'start']) assert.ok(run.includes(chunk), `control: ${chunk}`);
});
