import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commitFolder } from '../support/git.ts';
import { project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { agent } from './support/command-agent.ts';

/** What a program of the agent puts in the place of a file: opening the first without a writer never ends. */
const DAMAGES = {
  'a pipe': 'mkfifo "$f"',
  'a folder': 'mkdir "$f"',
  'a link to itself': 'ln -s "$f" "$f"',
  'a link to a device': 'ln -s /dev/zero "$f"',
} as const;
const FILES = [
  'snapshot.job.look',
  'evidence.job.json',
  'seen.job.json',
  'snapshot.job.json',
  'contract.job.json.start-point',
  'contract.job.json',
];
const CASES = FILES.flatMap((file, nth) =>
  Object.entries(DAMAGES).map(([what, shell], at) => ({ file, what, shell, turn: (nth + at) % FILES.length })),
);

/** Lets the agent spoil a file that must stay as it is, put something in the place of a file outside the project, and claim. */
const played = (t: Parameters<typeof project>[0], shell: string) => {
  const p = project(t);
  p.write('test/a.js', 'kept\n');
  const task = 'max_iterations: 2\ncompletion_promise: DONE\nvalidation: ["test -s done"]\nunchanged: ["test/**"]';
  p.write('job/RALPH.md', `---\n${task}\n---\nWork.\n`);
  const cmd = agent(p, `echo x > done\n${shell}\necho '<promise>DONE</promise>'`);
  commitFolder(p.dir);
  return p.ralph(['run', 'job', '--plain', '--agent', cmd]);
};
const inOutside = (file: string, shell: string): string =>
  `for f in ../state/ralph-loop/project-*/${file}; do f=$(realpath "$f"); rm -rf "$f"; ${shell}; done`;

const SOME = someOf(
  CASES.toSorted((one, other) => one.turn - other.turn),
  7,
);
for (const { file, what, shell } of SOME)
  test(`a loop whose ${file} became ${what} pauses and names it`, (t) => {
    const { code, stdout, stderr } = played(t, `echo evil > test/a.js\n${inOutside(file, shell)}`);
    assert.equal(code, 3, `${stdout}\n${stderr}`);
    assert.ok(stdout.includes(`/${file} is `), stdout);
    assert.match(stdout, /Evidence of this loop is lost/);
    assert.doesNotMatch(stderr, /internal error/);
  });

test('a folder in the place of a file that is written is named, and the loop does not complete', (t) => {
  const { code, stdout, stderr } = played(t, inOutside('turn.job.json', DAMAGES['a folder']));
  assert.equal(code, 1, `${stdout}\n${stderr}`);
  assert.match(stderr, /\/turn\.job\.json cannot be used: a folder exists where a file is needed/);
  assert.doesNotMatch(`${stdout}${stderr}`, /internal error|omplete, verified/);
});

test('a folder in the place of the counters is named, and the counters are kept', (t) => {
  const { code, stdout, stderr } = played(t, inOutside('counters.job.json', DAMAGES['a folder']));
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  assert.match(stdout, /Counters kept .*\/counters\.job\.json, which was missing or damaged, was written again/);
  assert.match(stdout, /1 iteration of 2,/);
});

test('control: without damage the changed file is refused, and the unchanged one is not', (t) => {
  assert.equal(played(t, 'echo evil > test/a.js').code, 2);
  assert.equal(played(t, ':').code, 0);
});
