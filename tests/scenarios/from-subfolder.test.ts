import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { OLD_COMMAND, OLD_FILES } from '../support/agent-studio.ts';
import { commitFolder } from '../support/git.ts';
import { OTHER_LOOPS } from '../support/other-loops.ts';
import { type Project, project } from '../support/project.ts';
import { agent } from './support/command-agent.ts';

const TASK = '---\nvalidation: [test -f done.txt]\ncompletion_promise: DONE\n---\nMake it.\n';

/** Runs a line of a message as its reader does, in the folder in which it was printed. */
function typed(p: Project, line: string, cwd: string): string {
  assert.notEqual(line, '');
  const { status, stdout, stderr } = spawnSync('sh', ['-c', line], { cwd, env: p.env, encoding: 'utf8' });
  assert.equal(status, 0, `${line}\n${stdout}${stderr}`);
  return stdout + stderr;
}

function folderIn(p: Project, path = 'src/deep'): string {
  const made = join(p.dir, path);
  mkdirSync(made, { recursive: true });
  return made;
}

test('in a clone that has only its tasks, a command finds them from a subfolder', (t) => {
  const p = project(t);
  p.write('.ralph/fix/RALPH.md', TASK);
  const deep = folderIn(p);
  assert.match(
    p.ralph(['status'], {}, deep).stdout,
    /^No active loop\.\nStart one: [^\n]*run "TASK"/,
    'control: no clone',
  );
  commitFolder(p.dir);
  assert.match(p.ralph(['status'], {}, deep).stdout, /\nTasks here: fix\./);
  assert.equal(p.ralph(['check', '.ralph/fix/RALPH.md'], {}, deep).code, 0, 'a path as messages name it');
});

test('the command that runs the list of another tool works from a subfolder', (t) => {
  const p = project(t);
  const [{ path, text, name }] = Object.values(OTHER_LOOPS) as [(typeof OTHER_LOOPS)[string]];
  p.write(path, text);
  p.write('.ralph/config.json', '{}');
  const deep = folderIn(p);
  commitFolder(p.dir);
  for (const words of [['check'], ['plan', 'check']]) {
    const { stdout, stderr } = p.ralph([...words, path], {}, deep);
    const copied = /checklist: (.*) && \S+ run \S+$/m.exec(stdout + stderr)?.[1] ?? '';
    typed(p, copied, deep);
    assert.equal(p.read(`.ralph/${name}/task.md`), text, copied);
    p.sh(`rm -r .ralph/${name}`);
  }
});

test('init is advised for the project, not for the subfolder in which the message is read', (t) => {
  const p = project(t);
  for (const [path, text] of Object.entries(OLD_FILES)) p.write(path, text);
  p.write('.claude/settings.json', { hooks: { Stop: [{ hooks: [{ type: 'command', command: OLD_COMMAND }] }] } });
  p.write('.claude/ralph/PROMPT.md', 'Work.\n');
  const deep = folderIn(p);
  const advised = /: (ralph-loop init --yes.*)\.$/m.exec(p.ralph(['doctor'], {}, deep).stdout)?.[1] ?? '';
  assert.match(typed(p, advised, deep), /Programs of another loop: moved to/);
  assert.match(p.ralph(['doctor'], {}, p.dir).stdout, /^ok +other-stop-hooks/m);
});

test('after --project the commands of a report name the project, and those of git work where it was called', (t) => {
  const p = project(t);
  p.write('.ralph/fix/RALPH.md', TASK);
  const command = agent(p, 'echo done > done.txt\necho "<promise>DONE</promise>"');
  commitFolder(p.dir);
  const ran = p.ralph(['run', 'fix', '--plain', '--agent', command, '--project', p.dir], {}, p.home);
  assert.equal(ran.code, 0, ran.stdout + ran.stderr);
  const said = ran.stdout + ran.stderr;
  const [next = '', undo = ''] = ['Next', 'Undo'].map((word) => new RegExp(`^ +${word}: (.*)$`, 'm').exec(said)?.[1]);
  assert.match(typed(p, next, p.home), /\+done/);
  assert.match(typed(p, `${undo} --dry-run`, p.home), /done\.txt/);
});

test('the worktrees of tasks side by side are named as a subfolder sees them', (t) => {
  const p = project(t);
  for (const name of ['one', 'two']) p.write(`.ralph/${name}/RALPH.md`, TASK);
  const command = agent(p, 'echo done > done.txt\necho "<promise>DONE</promise>"');
  const deep = folderIn(p);
  commitFolder(p.dir);
  const { stdout, stderr } = p.ralph(['run', 'one', 'two', '--plain', '--agent', command], {}, deep);
  const lines = (stdout + stderr).split('\n').filter((line) => /^ +git /.test(line));
  assert.equal(lines.length, 3, stdout + stderr);
  const author = 'GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.c';
  const real = lines.map((line) => line.replaceAll('NAME', 'one').replace(/commit$/, 'commit -m Work'));
  typed(p, `export ${author}; ${real.join(' && ')}`, deep);
  assert.equal(p.read('done.txt'), 'done\n');
});
