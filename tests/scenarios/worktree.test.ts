import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { storeProjectRecord } from '../../src/state/evidence/project-records.ts';
import { loopFiles } from '../../src/state/loop-files.ts';
import { commandHere } from '../support/command-here.ts';
import { DIST, type Project } from '../support/project.ts';
import { longTest, someOf } from '../support/short-form.ts';
import { inPerson, unattended } from '../support/terminal/in-person.ts';
import { until } from '../support/until.ts';
import { repository, run, tree } from './support/in-worktree.ts';
import { git } from './support/side-by-side.ts';

test('a loop in a worktree works on its own branch, and the main work tree stays unchanged', async (t) => {
  const p = repository(t);
  const before = p.tree();
  const { code, stdout, stderr } = run(p);
  assert.equal(code, 0, stdout + stderr);
  assert.equal(git(p, 'log --format=%s ralph/fix'), 'Add b\nfirst');
  assert.equal(git(p, 'log --format=%s main'), 'first');
  assert.equal(git(p, 'status --porcelain'), '', 'not even the worktree itself is seen');
  const after = Object.entries(p.tree()).filter(([path]) => !/^\.(ralph|git)\//.test(path));
  assert.deepEqual(
    Object.fromEntries(after),
    Object.fromEntries(Object.entries(before).filter(([path]) => !path.startsWith('.git/'))),
  );
  assert.match(
    stderr,
    /1 commit of the work is on the branch ralph\/fix\. .* 1 file that is not committed \(prompt\.txt\)/,
  );
  for (const advice of ['git log -p HEAD..ralph/fix', 'git merge ralph/fix', 'ralph-loop worktree remove fix']) {
    assert.ok(stderr.includes(advice), stderr);
  }
  assert.ok(existsSync(tree(p, '.claude/context/runtime/ralph-archive.fix')), 'its state lies in the worktree');
  const status = p.sh('git status --porcelain', '', {}).stdout;
  assert.equal(status, '');
  const inside = p.ralph(['status', '--loop', 'fix', '--json'], {}, tree(p)).json;
  assert.equal((inside['lastLoop'] as { status: string }).status, 'complete');
  const { next, restore } = inside['report'] as { next: string; restore: string };
  assert.match(p.sh(next).stdout, /\+done/, 'run where the user is');
  p.write('src/a.txt', 'mine\n');
  assert.equal(restore, 'ralph-loop undo fix');
  assert.equal((await commandHere(p, ['undo', 'fix', '--yes', '--new-files'])).code, 0);
  assert.equal(p.read('src/a.txt'), 'mine\n', 'the changes of the user stay');
  assert.equal(existsSync(tree(p, 'src/b.txt')), false, 'those of the loop are undone');
});

test('a worktree without a commit offers its changes, and status names its loop, not an older one', async (t) => {
  const p = repository(t);
  p.write('agent.sh', '#!/bin/sh\necho more >> src/a.txt\nexit 1\n', 0o755);
  git(p, 'add -A');
  git(p, 'commit -qm agent');
  const older = p.ralph(['run', 'jobs/fix', '--agent', './agent.sh', '--max-iterations', '1'], {
    RALPH_RETRY_WAIT: '1ms',
  });
  assert.notEqual(older.code, 0);
  p.write('agent.sh', "#!/bin/sh\necho more >> src/a.txt\necho '<promise>DONE</promise>'\n", 0o755);
  git(p, 'commit -qam "Another agent"');
  const { stderr } = run(p);
  assert.doesNotMatch(stderr, /git log -p/);
  assert.match(stderr, /look at the rest +git -C \S+ status && git -C \S+ diff HEAD/);
  const { lastLoop } = (await commandHere(p, ['status', '--loop', 'fix', '--json'])).json as {
    lastLoop: { status: string };
  };
  const inside = p.ralph(['status', '--loop', 'fix', '--json'], {}, tree(p)).json as { lastLoop: { status: string } };
  assert.deepEqual(lastLoop, inside.lastLoop);
  for (const words of someOf(
    [['status', 'jobs/fix'], ['status'], ['explain', 'jobs/fix'], ['explain'], ['logs', 'jobs/fix']],
    2,
  )) {
    const said = p.ralph(words).stdout;
    assert.match(said, /complete/i, words.join(' '));
    assert.doesNotMatch(said, /exit code 1/, `${words.join(' ')}: not the older one in the project`);
  }
});

test('uncommitted files of the task are copied; other changes are counted and left', (t) => {
  const p = repository(t);
  p.write('jobs/fix/RALPH.md', p.read('jobs/fix/RALPH.md').replace('Fix it.', 'Fix it NOW.'));
  p.write('jobs/fix/notes/more.md', 'notes');
  p.write('src/a.txt', 'two\n');
  p.write('src/new.txt', 'new\n');
  const { code, stderr } = run(p);
  assert.equal(code, 0, stderr);
  assert.match(readFileSync(tree(p, 'prompt.txt'), 'utf8'), /Fix it NOW\./);
  assert.match(
    stderr,
    /copied into the worktree with uncommitted changes: jobs\/fix\/RALPH\.md, jobs\/fix\/notes\/more\.md\./,
  );
  assert.match(stderr, /2 uncommitted changes of the project are not in the worktree/);
  assert.equal(readFileSync(tree(p, 'src/a.txt'), 'utf8'), 'one\n');
  assert.equal(existsSync(tree(p, 'src/new.txt')), false);
});

test('the set-up runs once in a new worktree; if it fails no loop begins, and the next run repeats it', (t) => {
  const p = repository(t);
  const setup = ['--worktree-setup', 'echo "no network" >&2; test -f "$RALPH_MAIN_PROJECT/ok" && echo set >> up.txt'];
  const failed = run(p, setup);
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /set-up failed .*exit code 1.*not started[\s\S]*no network/);
  assert.equal(existsSync(tree(p, 'prompt.txt')), false);
  writeFileSync(join(p.dir, 'ok'), '');
  for (const more of [[], ['--resume']]) {
    const refused = run(p, [...more, ...setup]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /set-up of the worktree fix .* no loop has started in it\. .* --fresh\./);
  }
  assert.equal(run(p, ['--fresh', ...setup]).code, 0);
  assert.equal(run(p, ['--fresh', ...setup]).code, 0);
  assert.equal(readFileSync(tree(p, 'up.txt'), 'utf8'), 'set\n');
});

test('the settings of the project may contain the set-up', (t) => {
  const p = repository(t);
  p.write('.claude/ralph/config.json', { worktree_setup: 'touch set-up.txt' });
  const words = ['run', 'jobs/fix', '--worktree', '--agent', './agent.sh'];
  const refused = unattended(p, words);
  assert.match(refused.stderr, /have not agreed to: worktree_setup: touch set-up\.txt {2}\(project config\)/);
  assert.ok(!existsSync(tree(p, 'set-up.txt')));
  assert.equal(inPerson(p, words, 'yes').code, 0);
  assert.ok(existsSync(tree(p, 'set-up.txt')));
});

test('an existing worktree is refused, resumed in, or restarted in', async (t) => {
  const p = repository(t);
  writeFileSync(join(p.dir, 'do.sh'), 'echo working\n');
  git(p, 'commit -qam lazy');
  assert.equal(run(p, ['--max-iterations', '1']).code, 2);
  const refused = run(p);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /the worktree fix already exists.*--fresh.*ralph-loop resume fix.*worktree remove fix/);
  const resumed = p.ralph(['run', 'fix', '--resume', '--worktree', '--agent', './agent.sh', '--max-iterations', '3']);
  assert.equal(resumed.code, 2, resumed.stderr);
  assert.match(resumed.stdout, /Iteration 2 of 3[\s\S]*Iteration 3 of 3/);
  assert.doesNotMatch(resumed.stdout, /Iteration 1 of/);
  const found = p.ralph(['run', '--loop', 'fix', '--resume', '--agent', './agent.sh', '--max-iterations', '4']);
  assert.match(found.stdout, /Iteration 4 of 4/, 'found without being asked for');
  assert.match(found.stdout, / Next: \S*.* resume fix --max-iterations \d+$/m);
  assert.match(
    (await commandHere(p, ['undo', 'fix', '--dry-run'])).stdout,
    /^Only in \.ralph\/worktrees\/fix:\nNew since the start:\n/,
  );
  assert.match(
    (await commandHere(p, ['undo', 'fix'])).stderr,
    /at a terminal or as --yes\. Look first: \S*.* undo fix --dry-run$/m,
  );
  const named = p.ralph(['resume', 'fix', '--max-iterations', '5']);
  assert.match(named.stdout, /Iteration 5 of 5/, named.stdout + named.stderr);
  assert.match(p.ralph(['resume', '--max-iterations', '6']).stdout, /Iteration 6 of 6/, 'the only one');
  assert.equal(p.has('.claude/context/runtime/ralph-state.fix.json'), false, 'none began in the project');
  const fresh = run(p, ['--fresh', '--max-iterations', '1']);
  assert.match(fresh.stdout, /Iteration 1 of 1/);
});

test('a worktree that git cannot read any more is named, and its loop is not resumed', (t) => {
  const p = repository(t);
  p.write('do.sh', 'echo work >> src/b.txt\n');
  git(p, 'commit -qam idle');
  assert.equal(run(p, ['--max-iterations', '1']).code, 2);
  for (const file of ['index', 'HEAD']) {
    p.write(`.git/worktrees/fix/${file}`, '');
    const { code, stdout, stderr } = p.ralph(['resume', 'fix', '--max-iterations', '2']);
    assert.equal(code, 1, `${file}\n${stdout}`);
    assert.match(stderr, /the worktree \S+worktrees\/fix could not be read, because git failed: \S/);
    assert.doesNotMatch(stdout, /Iteration 2/);
  }
});

test('a loop that a session worked on in a worktree resumes there by its name', (t) => {
  const p = repository(t);
  writeFileSync(join(p.dir, 'do.sh'), 'echo working\n');
  git(p, 'commit -qam lazy');
  assert.equal(run(p, ['--max-iterations', '1']).code, 2);
  const byHand = (...words: readonly string[]) => p.ralph([...words, '--loop', 'fix'], {}, tree(p));
  const started = byHand('start', '--fresh', '--permission-mode', 'acceptEdits', '--task', 'jobs/fix');
  assert.equal(started.code, 0, started.stderr);
  assert.equal(byHand('cancel').code, 0);
  const resumed = p.ralph(['resume', 'fix']);
  assert.match(resumed.stdout, /^The loop fix is ready\.\n[^\n]*\n {2}cd '.*\/worktrees\/fix'\n/, resumed.stderr);
  assert.equal(p.has('.claude/context/runtime/ralph-state.fix.json'), false, 'none began in the project');
});

longTest('a loop in a worktree is resumed without its name where the loops of the project are complete', (t) => {
  const p = repository(t);
  writeFileSync(join(p.dir, 'do.sh'), 'test -e .git/HEAD && echo "<promise>DONE</promise>" || echo working\n');
  git(p, 'commit -qam lazy');
  p.write('.claude/ralph/PROMPT.md', p.read('jobs/fix/RALPH.md'));
  git(p, 'add -A');
  git(p, 'commit -qm prompt');
  assert.equal(p.ralph(['run', 'jobs/fix', '--loop', 'done', '--agent', './agent.sh']).code, 0);
  assert.equal(run(p, ['--max-iterations', '1']).code, 2);
  const resumed = p.ralph(['resume', '--max-iterations', '2']);
  assert.match(resumed.stdout, /Iteration 2 of 2/, resumed.stderr);
  const byDefault = p.ralph(['run', '--agent', './agent.sh']);
  assert.equal(byDefault.code, 0, byDefault.stderr);
  assert.match(
    p.ralph(['resume', '--max-iterations', '3']).stdout,
    /Iteration 3 of 3/,
    'the default loop is complete, too',
  );
});

longTest('where a loop in a worktree cannot be undone, the advice is about the worktree', async (t) => {
  const p = repository(t);
  assert.equal(run(p).code, 0);
  p.sh(`git -C '${tree(p)}' switch -q -c other`);
  const { code, stderr } = await commandHere(p, ['undo', 'fix', '--dry-run']);
  assert.equal(code, 1);
  const there =
    /: git -C '\S*\/worktrees\/fix' switch ralph\/fix\. .*: git -C '\S*\/worktrees\/fix' restore --source=\w+ -- PATH/;
  assert.match(stderr, there);
});

test('an interrupted creation is repeated; a foreign folder and a branch with its own work are not touched', (t) => {
  const p = repository(t);
  const record = {
    step: 'making',
    base: git(p, 'rev-parse HEAD'),
    hadBranch: false,
    maker: { pid: 999999, startedAt: 'x' },
  };
  const outside = p.sh('find "$XDG_STATE_HOME" -name "worktree.fix.json"');
  assert.equal(outside.stdout, '');
  assert.equal(run(p, ['--worktree-setup', 'exit 1']).code, 1);
  const path = p.sh('find "$XDG_STATE_HOME" -name "worktree.fix.json"').stdout.trim();
  writeFileSync(path, JSON.stringify(record));
  const lost = run(p, ['--fresh']);
  assert.match(
    lost.stderr,
    /worktree\.fix\.json was changed by another program/,
    'control: a record that we did not write',
  );
  rmSync(join(dirname(path), 'records.json'));
  assert.match(run(p, ['--fresh']).stderr, /records\.json is missing/, 'control: a record without its digest');
  storeProjectRecord(loopFiles(p.dir, null, p.env), path, record);
  writeFileSync(tree(p, 'src/a.txt'), 'half');
  const again = run(p);
  assert.equal(again.code, 0, again.stderr);
  assert.equal(readFileSync(tree(p, 'src/a.txt'), 'utf8'), 'one\n');

  const q = repository(t);
  q.write('.ralph/worktrees/fix/mine.txt', 'mine');
  assert.match(run(q).stderr, /is not a worktree of this repository/);
  assert.equal(q.read('.ralph/worktrees/fix/mine.txt'), 'mine');

  const r = repository(t);
  git(r, 'branch ralph/fix');
  git(r, 'worktree add -q ../aside ralph/fix');
  r.sh('cd ../aside && echo x > x && git add x && git commit -qm own');
  git(r, 'worktree remove ../aside');
  const tip = git(r, 'rev-parse ralph/fix');
  assert.match(run(r).stderr, /the branch ralph\/fix already exists, with 1 commit missing from HEAD/);
  assert.equal(git(r, 'rev-parse ralph/fix'), tip);
  git(r, 'merge -q ralph/fix');
  assert.equal(run(r).code, 0, 'merged, it may begin again');
});

test('remove loses nothing without a yes at the terminal, keeps the journals and is not for agents', async (t) => {
  const p = repository(t);
  assert.equal(run(p).code, 0);
  const refused = p.ralph(['worktree', 'remove', 'fix']);
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /would lose: 1 file that is not committed \(prompt\.txt\); 1 commit that no branch but ralph\/fix has\. .*person/,
  );
  assert.ok(existsSync(tree(p, 'src/b.txt')));
  const byAgent = p.ralph(['worktree', 'remove', 'fix'], { CLAUDECODE: '1' });
  assert.match(byAgent.stderr, /is for the user at a terminal/);
  p.sh('rm .ralph/worktrees/fix/prompt.txt');
  git(p, 'merge -q ralph/fix');
  const { code, json } = p.ralph(['worktree', 'remove', 'fix', '--json']);
  assert.equal(code, 0);
  assert.equal(existsSync(tree(p)), false);
  assert.equal(git(p, 'branch --list ralph/*'), '');
  assert.ok(existsSync(join(String(json['kept']), '.claude/context/runtime/ralph-archive.fix')));
  assert.equal((await commandHere(p, ['worktree', 'list', '--json'])).json['worktrees']?.toString(), '');
  const again = run(p);
  assert.equal(again.code, 0, `and the way is free: ${again.stdout}${again.stderr}`);
  assert.doesNotMatch(refused.stderr, /--force/);
  assert.equal(p.ralph(['worktree', 'remove', 'fix', '--force']).code, 1, 'no option replaces the person');
  const declined = inPerson(p, ['worktree', 'remove', 'fix'], 'no');
  assert.equal(declined.code, 1);
  assert.match(declined.stderr, /the worktree fix was kept/);
  assert.ok(existsSync(tree(p, 'src/b.txt')));
  const agreed = inPerson(p, ['worktree', 'remove', 'fix'], 'yes');
  assert.equal(agreed.code, 0, agreed.stderr);
  assert.match(agreed.screen, /Removing the worktree fix loses:\n +1 file that is not committed \(prompt\.txt\)/);
  assert.equal(existsSync(tree(p)), false);
});

test('two loops in worktrees run at once, keep them, and are shown and steered from the project', async (t) => {
  const p = repository(t);
  const worker =
    'echo "$RALPH_LOOP" > who.txt; while [ ! -f go ]; do sleep 0.05; done; git add -A; git commit -qm work';
  p.write('do.sh', `${worker}; echo more\n`);
  p.write('jobs/other/RALPH.md', p.read('jobs/fix/RALPH.md'));
  p.write('.ralph/idea/task.md', '# Goals\n\n- [ ] one\n');
  git(p, 'add do.sh jobs && git commit -qm two');
  const ends = ['fix', 'other'].map((name) => {
    const args = [join(DIST, 'scripts', 'main.cjs'), 'run', `jobs/${name}`, '--worktree', '--agent', './agent.sh'];
    const child = spawn(process.execPath, args, { cwd: p.dir, env: p.env, stdio: 'ignore' });
    return new Promise((resolve) => child.once('exit', resolve));
  });
  const at = (name: string, path: string): string => join(p.dir, '.ralph/worktrees', name, path);
  const who = (name: string): string =>
    existsSync(at(name, 'who.txt')) ? readFileSync(at(name, 'who.txt'), 'utf8') : '';
  await until('both work', () => ['fix', 'other'].every((name) => who(name) !== ''));
  assert.deepEqual(['fix', 'other'].map(who), ['fix\n', 'other\n']);
  const loops = (await commandHere(p, ['list', '--json'])).json['loops'] as Record<string, unknown>[];
  assert.deepEqual(
    loops.map(({ name, status, mode, holder, worktree }) => [
      ...[name, status, mode, (holder as { alive: boolean } | null)?.alive ?? null],
      (worktree as { branch: string } | null)?.branch ?? null,
    ]),
    [
      ['idea', 'not-started', null, null, null],
      ['fix', 'running', 'runner', true, 'ralph/fix'],
      ['other', 'running', 'runner', true, 'ralph/other'],
    ],
  );
  assert.equal((await commandHere(p, ['status', '--loop', 'fix', '--json'])).json['active'], true);
  assert.match((await commandHere(p, ['stop'])).stderr, /2 loops are active here/);
  assert.match(p.ralph(['worktree', 'remove', 'fix']).stderr, /a loop \(running\) runs in the worktree fix/);
  assert.equal((await commandHere(p, ['stop', '--loop', 'fix'])).code, 0);
  writeFileSync(at('fix', 'go'), '');
  assert.equal(await ends[0], 3);
  assert.equal((await commandHere(p, ['stop'])).code, 0, 'the only one that is left');
  writeFileSync(at('other', 'go'), '');
  assert.equal(await ends[1], 3);
  assert.equal(git(p, 'status --porcelain -- do.sh jobs src'), '');
  assert.equal(git(p, 'log --format=%s -1 ralph/fix'), 'work');
});

test('a folder of a repository is a project in its worktree as well', (t) => {
  const p = repository(t);
  p.sh('mkdir -p packages/app && git mv jobs agent.sh do.sh packages/app/ && git commit -qm move');
  const dir = join(p.dir, 'packages/app');
  const { code, stderr } = p.ralph(
    ['run', 'jobs/fix', '--worktree', '--agent', './agent.sh', '--project', dir],
    {},
    dir,
  );
  assert.equal(code, 0, stderr);
  assert.ok(existsSync(join(dir, '.ralph/worktrees/fix/packages/app/prompt.txt')));
  assert.equal(git(p, 'status --porcelain'), '');
});

const refusals: readonly (readonly [string, (p: Project) => void, readonly string[], RegExp])[] = [
  ['no repository', (p) => void p.sh('rm -rf .git'), ['jobs/fix'], /not in a git repository/],
  [
    'a repository that git does not open',
    (p) => void p.sh("echo '[' > .git/config"),
    ['jobs/fix'],
    /git does not open the repository .*safe\.directory/,
  ],
  ['no commit', (p) => void p.sh('rm -rf .git && git init -q'), ['jobs/fix'], /has no commit yet/],
  ['no name', (p) => p.write('.claude/ralph/PROMPT.md', 'x'), [], /needs a name.*--loop NAME/],
  [
    'a name that is no branch',
    () => undefined,
    ['jobs/fix', '--loop', 'a..b'],
    /git does not allow a branch named ralph\/a\.\.b/,
  ],
  ['nothing to resume', () => undefined, ['jobs/fix', '--resume'], /no worktree fix to resume/],
  ['a broken task', (p) => p.write('jobs/fix/RALPH.md', '---\ntimeout: x\n---\nx'), ['jobs/fix'], /cannot be started/],
];

for (const [what, prepare, args, says] of someOf(refusals, 3)) {
  test(`${what}: a worktree is refused, and nothing is created`, (t) => {
    const p = repository(t);
    prepare(p);
    const { code, stderr } = p.ralph(['run', ...args, '--worktree', '--agent', './agent.sh']);
    assert.equal(code, 1);
    assert.match(stderr, says);
    assert.equal(existsSync(join(p.dir, '.ralph')), false);
  });
}

test('a folder of worktrees that leads out of the project is refused, and nothing is written there', (t) => {
  const p = repository(t);
  const outside = join(p.home, 'elsewhere');
  mkdirSync(outside);
  mkdirSync(join(p.dir, '.ralph'), { recursive: true });
  symlinkSync(outside, join(p.dir, '.ralph/worktrees'));
  assert.match(run(p).stderr, /\.ralph\/worktrees leads out of the project through a symbolic link/);
  assert.deepEqual(readdirSync(outside), []);
  assert.equal(git(p, 'branch --list "ralph/*"'), '');
});

test('ignored files that worktree_copy names are copied into a new worktree, and no others', (t) => {
  const p = repository(t);
  p.write('.gitignore', '.env*\nsecret.txt\nlink.env\n');
  git(p, 'add .gitignore && git commit -qm ignore');
  p.write('.env', 'A=1\n');
  p.write('packages/a/.env.local', 'B=2\n');
  p.write('secret.txt', 'no\n');
  p.write('.claude/ralph/config.json', { worktree_copy: ['**/.env*', 'link.env'] });
  symlinkSync('/etc/hostname', join(p.dir, 'link.env'));
  const { code, stderr } = run(p);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /copied into the worktree for worktree_copy: \.env, packages\/a\/\.env\.local\./);
  const inside = '.ralph/worktrees/fix';
  assert.equal(p.read(`${inside}/.env`), 'A=1\n');
  assert.equal(p.read(`${inside}/packages/a/.env.local`), 'B=2\n');
  assert.ok(!p.has(`${inside}/secret.txt`) && !p.has(`${inside}/link.env`));
});
