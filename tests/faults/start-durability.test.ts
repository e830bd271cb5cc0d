import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { commitFolder } from '../support/git.ts';
import { project } from '../support/project.ts';

/** Loaded into node before the program: it notes what waits for the disk, and which names files get. */
const NOTING = `
const fs = require('node:fs');
const open = new Map();
const notes = [];
const over = (name, note) => {
  const real = fs[name];
  fs[name] = (...words) => {
    const result = real(...words);
    note(result, ...words);
    return result;
  };
};
over('openSync', (descriptor, path) => open.set(descriptor, String(path)));
over('fsyncSync', (_, descriptor) => notes.push(['sync', open.get(descriptor)]));
over('renameSync', (_, from, to) => notes.push(['rename', String(from), String(to)]));
process.on('exit', () => fs.writeFileSync(process.env.NOTES, JSON.stringify(notes)));
`;

type Note = readonly ['sync', path: string] | readonly ['rename', from: string, to: string];

/** Returns the files that got their names by then, and would not be whole under them after a crash of the machine. */
function notOnDisk(notes: readonly Note[]): string[] {
  const open = new Map<string, 'content' | 'name'>();
  notes.forEach(([what, path, to], at) => {
    if (what === 'rename') {
      const hasContent = notes.slice(0, at).some(([before, of]) => before === 'sync' && of === path);
      open.set(to, hasContent ? 'name' : 'content');
      return;
    }
    for (const [file, lacks] of open) if (lacks === 'name' && dirname(file) === path) open.delete(file);
  });
  return [...open.keys()];
}

test('when a new loop gets its contract, all that it lists is on the disk', (t) => {
  const p = project(t);
  p.write('.claude/ralph/PROMPT.md', '---\nvalidation: ["test -e done"]\nmax_iterations: 1\n---\nDo it.\n');
  p.write('agent.sh', '#!/bin/sh\ncat > /dev/null\n', 0o755);
  p.write('ignored', '');
  commitFolder(p.dir);
  p.write('.git/info/exclude', 'ignored\n');
  p.write('../noting.cjs', NOTING);
  const env = { NODE_OPTIONS: `--require=${join(p.dir, '../noting.cjs')}`, NOTES: join(p.home, 'notes') };
  for (const run of ['first', 'second']) {
    assert.equal(p.ralph(['run', '--agent', './agent.sh', '--yes'], env).code, 2, run);
    const notes = JSON.parse(readFileSync(env.NOTES, 'utf8')) as Note[];
    const at = notes.findIndex(([what, , to]) => what === 'rename' && basename(to ?? '') === 'contract.json');
    assert.notEqual(at, -1);
    const outside = dirname(String(notes[at]?.[2]));
    const named = notes.slice(0, at).flatMap(([what, , to]) => (what === 'rename' ? [to] : []));
    const evidence = ['snapshot.json', 'seen.json', 'counters.json', 'git-view.json', 'contract.json.start-point'];
    for (const name of evidence) assert.ok(named.includes(join(outside, name)), `${name}, ${run}`);
    // No process outlives such a crash, a lost look costs an examination, and HEAD is written again before git reads it.
    const lost = notOnDisk(notes.slice(0, at)).filter((path) => path.startsWith(outside));
    assert.deepEqual(
      lost.filter((path) => !['runner.holder', 'snapshot.look', 'HEAD'].includes(basename(path))),
      [],
      run,
    );
    assert.match(String(notes[at - 1]), /^sync,.*contract\.json\./, run);
    // Control: before the list of evidence waits for its name, their names are lost.
    const listed = notes.slice(0, at).findLastIndex(([what, path]) => what === 'sync' && path === outside);
    assert.ok(notOnDisk(notes.slice(0, listed)).includes(join(outside, 'git-view.json')), `control, ${run}`);
  }
});
