import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loopFiles } from '../../src/state/loop-files.ts';
import { commandHere } from '../support/command-here.ts';
import { commitFolder, GIT_ENV, type Git } from '../support/git.ts';
import { keptProject } from '../support/kept-project.ts';
import { type Project, project } from '../support/project.ts';
import { longTest, someOf } from '../support/short-form.ts';
import { agent, MAIN, task } from './support/command-agent.ts';

const SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const AFTER_MS = 2_500;

/** A repository with an untracked file of the user, and a loop on it whose agent did this: one for all tests of it. */
function ranLoop(script: string): { readonly p: Project; readonly git: Git; readonly report: string } {
  return keptProject(script, (atExit) => {
    const p = project(atExit);
    p.write('kept.txt', 'one\n');
    task(p, 'max_iterations: 1');
    const command = agent(p, `${script}\necho ${SIGNAL}`);
    p.write('.gitignore', 'runs.txt\n');
    const git = commitFolder(p.dir);
    p.write('mine.txt', 'mine\n');
    p.write('kept.txt', 'one\nmine\n');
    const { stdout } = p.ralph(['run', '--plain', '--agent', command]);
    return { p, git, report: stdout };
  });
}

/** A change that is not committed, with new files. */
const CHANGES = 'echo agent >> kept.txt; echo x > other.txt';
/** A commit, and a new file beside it. */
const COMMITS = 'echo agent >> kept.txt; echo new > new.txt; git add -A; git commit -qm work; echo 2 > two.txt';

test('the undo that a report names keeps an untracked file of the user that the agent committed', () => {
  const { p, git, report } = ranLoop('echo agent >> kept.txt; git add -A; git commit -qm work');
  assert.match(report, /\n {2}Undo: ralph-loop undo\n/);
  const before = git('rev-parse', 'HEAD~1').trim();
  const { code, stdout, stderr } = p.ralph(['undo', '--yes']);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /Commits to take back; [^\n]+\n {2}[0-9a-f]+ work\nFiles to bring back:\n {2}kept\.txt\n/);
  assert.equal(p.read('mine.txt'), 'mine\n');
  assert.equal(p.read('kept.txt'), 'one\nmine\n');
  assert.equal(git('rev-parse', 'HEAD').trim(), before);
  assert.equal(git('status', '--porcelain', '--', ':!.claude').trim(), 'M kept.txt\n?? mine.txt');
});

test('an undo can be taken back, with its commits', async () => {
  const { p, git } = ranLoop(COMMITS);
  const [head, status] = [git('rev-parse', 'HEAD'), git('status', '--porcelain')];
  assert.equal((await commandHere(p, ['undo', '--yes', '--new-files'])).code, 0);
  assert.equal(p.has('new.txt') || p.has('two.txt'), false);
  const { code, stdout } = await commandHere(p, ['undo', '--back']);
  assert.equal(code, 0);
  assert.equal(stdout, 'The undo was taken back.\n');
  assert.deepEqual([git('rev-parse', 'HEAD'), git('status', '--porcelain')], [head, status]);
  assert.deepEqual([p.read('new.txt'), p.read('two.txt')], ['new\n', '2\n']);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, AFTER_MS);
  assert.equal((await commandHere(p, ['undo', '--yes', '--new-files'])).code, 0);
  assert.deepEqual([p.read('kept.txt'), p.has('new.txt'), p.has('two.txt')], ['one\nmine\n', false, false], 'again');
});

test('an undo says before that git may change line ends, where settings or attributes let it', async () => {
  const { p, git } = ranLoop(CHANGES);
  const says = async (): Promise<boolean> =>
    (await commandHere(p, ['undo', '--dry-run'])).stdout.includes('\nLine ends come back as git writes them');
  assert.equal(await says(), false);
  git('config', 'core.autocrlf', 'input');
  assert.equal(await says(), true);
  git('config', 'core.autocrlf', 'false');
  p.write('.gitattributes', '*.txt text=auto\n');
  assert.equal(await says(), true);
  p.write('.gitattributes', '*.txt -text\n');
  assert.equal(await says(), false, 'these are taken for binary files');
});

test('new files stay unless the user says otherwise, and a report of new files alone offers the undo', async () => {
  const { p, report } = ranLoop('echo new > new.txt');
  assert.match(report, /\n {2}Undo: ralph-loop undo\n/);
  assert.match(
    (await commandHere(p, ['undo', '--dry-run'])).stdout,
    /^New since the start:\n {2}new\.txt\nTo undo: ralph-loop undo\n$/,
  );
  const { code, stdout } = await commandHere(p, ['undo', '--yes']);
  assert.equal(code, 0);
  assert.match(stdout, /\nNothing was undone: new files stay\. To remove them: ralph-loop undo --yes --new-files\n$/);
  assert.equal(p.read('new.txt'), 'new\n');
});

test('an undo names its loop in the command that comes next', async (t) => {
  const p = project(t);
  p.write('job/RALPH.md', '---\nmax_iterations: 1\n---\nWork.\n');
  commitFolder(p.dir);
  p.ralph(['run', 'job', '--plain', '--agent', 'cat > /dev/null; echo new > new.txt']);
  assert.match((await commandHere(p, ['undo', '--dry-run'])).stdout, /\nTo undo: ralph-loop undo job\n$/);
  assert.match(
    (await commandHere(p, ['undo', '--yes', '--new-files'])).stdout,
    /\nUndone\. To take it back: ralph-loop undo job --back\n$/,
  );
  assert.equal((await commandHere(p, ['undo', '--dry-run'])).stdout, 'Nothing changed since the start.\n');
  const undone =
    /Undone at .*\n\nNext: Nothing: its changes are undone\. Take that back: ralph-loop undo job --back\.\n$/;
  assert.match(p.ralph(['explain', 'job']).stdout, undone);
  assert.equal((await commandHere(p, ['undo', 'job', '--back'])).code, 0);
  const taken = p.ralph(['explain', 'job']).stdout;
  assert.match(taken, /\nUndone at .*\nUndo taken back at .*\n\nNext: /);
  assert.doesNotMatch(taken, undone);
  assert.equal((await commandHere(p, ['undo', 'job', '--yes', '--new-files'])).code, 0);
  assert.equal(p.ralph(['resume', 'job', '--max-iterations', '2']).code, 2);
  assert.match(
    p.ralph(['explain', 'job']).stdout,
    /Grant more: .*resume job --max-iterations 4/,
    'it has worked since',
  );
});

test('a file that git ignored at the start is no new one, although the agent took the rule away', async (t) => {
  const p = project(t);
  task(p, 'max_iterations: 1');
  p.write('.gitignore', 'runs.txt\n.env\n');
  const users = join(p.env['XDG_CONFIG_HOME'] ?? '', 'git');
  const lifts = `: > .gitignore; echo '!own' > .git/info/exclude; : > ${users}/ignore`;
  const command = agent(
    p,
    `for each in .env own all; do echo key >> $each; done; ${lifts}; echo x > other.txt\necho ${SIGNAL}`,
  );
  commitFolder(p.dir);
  p.write('.git/info/exclude', 'own\n');
  mkdirSync(users, { recursive: true });
  writeFileSync(join(users, 'ignore'), 'all\n');
  p.write('.env', 'mine\n');
  p.ralph(['run', '--plain', '--agent', command]);
  const answer = (await commandHere(p, ['undo', '--yes', '--new-files', '--json'])).json;
  assert.deepEqual(answer['left'], [
    '.env (ignored by git at the start, which did not record it)',
    'all (ignored by git at the start, which did not record it)',
    'own (ignored by git at the start, which did not record it)',
    'runs.txt (ignored by git at the start, which did not record it)',
  ]);
  assert.equal(p.read('.env'), 'mine\nkey\n');
  assert.equal(p.has('other.txt'), false, 'control: a new file');
});

test('what the user changed after the loop is left alone and named', async () => {
  const { p } = ranLoop(CHANGES);
  p.write('kept.txt', 'mine again\n');
  const answer = (await commandHere(p, ['undo', '--yes', '--new-files', '--json'])).json;
  assert.deepEqual(answer['left'], ['kept.txt (changed after the loop ended)']);
  assert.equal(p.read('kept.txt'), 'mine again\n');
  assert.equal(p.has('other.txt'), false);
});

for (const [what, change, reason] of someOf(
  [
    [
      'another branch is checked out',
      'git checkout -qb other',
      /started on main, and other is checked out\. Nothing was changed\. To undo it, first: git switch main\. /,
    ],
    [
      'a commit of the user follows',
      'git commit -qam later',
      /commits since the start are not the loop's: [0-9a-f]+ later/,
    ],
  ] as const,
  2,
)) {
  test(`an undo changes nothing where ${what}, and says how to bring single files back`, async () => {
    const { p, git } = ranLoop(CHANGES);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, AFTER_MS);
    assert.equal(p.sh(`git config user.email a@b.c; git config user.name a; ${change}`).code, 0);
    const before = [git('rev-parse', 'HEAD'), p.read('kept.txt')];
    const { code, stderr } = await commandHere(p, ['undo', '--yes']);
    assert.equal(code, 1);
    assert.match(stderr, reason);
    assert.match(stderr, /git restore --source=[0-9a-f]{12} -- PATH/);
    assert.deepEqual([git('rev-parse', 'HEAD'), p.read('kept.txt')], before);
  });
}

for (const [what, script, prepare, reason, then] of someOf(
  [
    [
      'a merge of the agent is not finished',
      'git checkout -qb o; git commit -qam o; git checkout -q -; echo m > kept.txt; git commit -qam m; git merge -q o',
      ':',
      /A git merge that began since the start of the loop is not finished\. .* git merge --quit\.\n$/,
      'git merge --quit',
    ],
    ['the index is locked', 'git add -A', 'touch .git/index.lock', /index\.lock': File exists/, 'rm .git/index.lock'],
  ] as const,
  2,
)) {
  test(`an undo changes nothing where ${what}, and works afterwards`, async () => {
    const { p, git } = ranLoop(`echo agent >> kept.txt; ${script}`);
    p.sh(prepare);
    const look = (): string[] => [git('rev-parse', 'HEAD'), git('status', '--porcelain'), p.read('kept.txt')];
    const before = look();
    const { code, stderr } = await commandHere(p, ['undo', '--yes']);
    assert.equal(code, 1);
    assert.match(stderr, reason);
    assert.deepEqual(look(), before);
    assert.match((await commandHere(p, ['undo', '--back'])).stderr, /There is no undo that can be taken back/);
    p.sh(then);
    assert.equal((await commandHere(p, ['undo', '--yes'])).code, 0);
    assert.equal(p.read('kept.txt'), 'one\nmine\n');
  });
}

test('the report and an undo name a changed submodule, and each name is on a line of its own and as it is', async (t) => {
  const p = project(t);
  task(p, 'max_iterations: 1');
  p.write('mod/f.txt', '1\n');
  commitFolder(join(p.dir, 'mod'));
  for (const path of ['ä.txt', 'two\nlines.txt']) p.write(path, '1\n');
  const command = agent(p, `for f in mod/f.txt ä.txt two*; do echo 2 >> "$f"; done; echo ${SIGNAL}`);
  p.write('.gitignore', 'runs.txt\n');
  commitFolder(p.dir);
  const { stdout } = p.ralph(['run', '--plain', '--agent', command]);
  assert.match(stdout, /^ +ä\.txt +\| 1 \+$/m);
  assert.match(stdout, /^ {2}Uncommitted in repositories of their own: mod$/m);
  assert.equal(
    (await commandHere(p, ['undo', '--yes'])).stdout.split('Undone.')[0],
    'Files to bring back:\n  two\\nlines.txt\n  ä.txt\nLeft alone:\n  mod (a submodule or a repository of its own)\n',
  );
  assert.equal(p.read('mod/f.txt'), '1\n2\n');
});

test('what the user staged after the loop stays staged', async () => {
  const { p, git } = ranLoop('echo agent >> kept.txt; git add -A; git commit -qm work');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, AFTER_MS);
  p.write('later.txt', 'staged\n');
  git('add', 'later.txt');
  p.write('later.txt', 'changed\n');
  assert.equal((await commandHere(p, ['undo', '--yes'])).code, 0);
  assert.equal(git('show', ':later.txt'), 'staged\n');
  assert.equal(git('show', ':kept.txt'), 'one\n', 'control: what the loop staged is undone');
  await commandHere(p, ['undo', '--back']);
  assert.deepEqual([git('show', ':later.txt'), git('show', ':kept.txt')], ['staged\n', 'one\nmine\nagent\n']);
});

test('an undo keeps an empty folder of the user, and removes those that the agent made or moved', async (t) => {
  const p = project(t);
  task(p, 'max_iterations: 1');
  const odd = '"$(printf "odd\\377")"';
  const makes = `mkdir -p made/deep ${odd}; echo x | tee made/deep/x.txt ${odd}/x > inbox/x.txt; mv src lib`;
  const command = agent(p, `${makes}; echo ${SIGNAL}`);
  p.write('src/in/a.txt', 'a\n');
  commitFolder(p.dir);
  mkdirSync(join(p.dir, 'inbox'));
  p.ralph(['run', '--plain', '--agent', command]);
  assert.equal((await commandHere(p, ['undo', '--yes', '--new-files'])).code, 0);
  const folders = (): string => p.sh("find . -type d ! -path './.*' | LC_ALL=C sort | tr '\\n' ' '").stdout;
  assert.deepEqual([folders(), p.has('inbox/x.txt')], ['. ./inbox ./src ./src/in ', false]);
  assert.equal((await commandHere(p, ['undo', '--back'])).code, 0);
  assert.match(folders(), /^\. \.\/inbox \.\/lib \.\/lib\/in \.\/made \.\/made\/deep \.\/odd\S+ $/);
  // So late that no change of the folder passes for the loop's.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, AFTER_MS);
  p.sh('touch inbox/mine; rm inbox/mine');
  assert.equal((await commandHere(p, ['undo', '--yes', '--new-files'])).code, 0);
  assert.deepEqual([folders(), p.has('inbox/x.txt')], ['. ./inbox ./src ./src/in ', false], 'again');
});

/** Programs in place of git that kill the command in front of, or behind, the call that has this word. */
for (const word of someOf(['update-ref -m', 'restore', 'reset'], 3)) {
  test(`an undo that is killed at git ${word} can be taken back, or finished and taken back`, () => {
    const { p, git } = ranLoop(COMMITS);
    const look = (): unknown[] => [
      git('rev-parse', 'HEAD'),
      git('status', '--porcelain', '--', ':!.claude'),
      ...['kept.txt', 'new.txt', 'mine.txt'].map((path) => (p.has(path) ? p.read(path) : null)),
    ];
    const end = look();
    const killing = `case "$*" in *"--work-tree=$PWD "*"${word} "*|*" ${word} "*) kill -9 $PPID;; esac`;
    p.write('.git/kills/git', `#!/bin/sh\n${killing}\nexec "$GIT" "$@"\n`, 0o755);
    const PATH = [join(p.dir, '.git/kills'), p.env['PATH']].join(':');
    const GIT = p.sh('command -v git').stdout.trim();
    const kill = (...words: string[]): void => {
      assert.equal(p.ralph(['undo', ...words], { PATH, GIT }).code, null, 'control: killed');
    };
    kill('--yes', '--new-files');
    p.ralph(['undo', '--back']);
    assert.deepEqual(look(), end, 'taken back');
    p.ralph(['undo', '--yes', '--new-files']);
    const undone = look();
    assert.deepEqual(undone.slice(2), ['one\nmine\n', null, 'mine\n'], 'undone');
    // So late that files with the time of the way back would pass for the user's.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, AFTER_MS);
    kill('--back');
    assert.equal(p.ralph(['undo', '--back']).stdout, 'The undo was taken back.\n');
    assert.deepEqual(look(), end, 'the way back is finished');
    kill('--yes', '--new-files');
    assert.equal(p.ralph(['undo', '--yes', '--new-files']).code, 0);
    assert.deepEqual(look(), undone, 'finished');
    while (p.ralph(['undo', '--back']).code === 0);
    assert.deepEqual(look(), end, 'taken back in two steps');
    assert.notDeepEqual(undone, end, 'control');
  });
}

test('a second run of the same loop keeps the recorded start of the first one', () => {
  const { p, git } = ranLoop(CHANGES);
  p.ralph(['run', '--plain', '--agent', './agent.sh']);
  const starts = git('for-each-ref', '--format=%(refname)', 'refs/ralph-loop')
    .split('\n')
    .filter((ref) => ref.endsWith('/start'));
  assert.equal(starts.length, 2);
});

test('outside git the start and an undo say that there is none', async (t) => {
  const p = project(t);
  task(p, 'max_iterations: 1');
  const { stderr, stdout } = p.ralph(['run', '--plain', '--agent', agent(p, `echo ${SIGNAL}`)]);
  assert.match(stderr, /There will be no undo: the project is not in a git repository\. Create one: git init/);
  assert.doesNotMatch(stdout, /Undo:/);
  assert.match(stdout, /^ {2}There is no undo: the files of the start were not recorded\.$/m);
  assert.match(
    (await commandHere(p, ['undo', '--yes'])).stderr,
    /This loop cannot be undone, because its start was not recorded/,
  );
});

longTest('a project whose path has a line break has an undo and a proof', (t) => {
  const p = project(t);
  const [top, at] = [join(p.dir, 'two\nlines'), 'two\nlines/ odd\napp '];
  p.write(`${at}/PROMPT.md`, '---\nvalidation: ["test -e done.txt"]\n---\nWork.\n');
  p.write(`${at}/kept.txt`, 'one\n');
  const git = commitFolder(top);
  const ralph = (...words: string[]) => p.ralph(words, {}, join(p.dir, at));
  const work = `cat > /dev/null; echo agent >> kept.txt; echo x > done.txt; git add -A .; git commit -qm w; echo ${SIGNAL}`;
  const { stdout, stderr } = ralph('run', 'PROMPT.md', '--plain', '--agent', work);
  assert.match(stdout, /verified by 1 check/, stderr);
  for (const words of [[], ['--tree', 'HEAD']]) assert.match(ralph('verify', ...words).stdout, /^Verified: /m);
  assert.equal(ralph('undo', '--yes', '--new-files').code, 0);
  assert.equal(git('status', '--porcelain', '-z', '--', ':!*/.claude', ':!*/.ralph'), '');
  assert.equal(ralph('undo', '--back').code, 0);
  assert.equal(p.read(`${at}/kept.txt`), 'one\nagent\n');
});

for (const [what, prepare, reason] of someOf(
  [
    [
      'refused to record the files',
      'touch .git/refs/ralph-loop',
      /git could not record the files of the project: .*refs\/ralph-loop/,
    ],
    ['has no commit yet', 'rm -rf .git; git init -q', /the repository has no commit yet\./],
    ['has no working tree', 'git config core.bare true', /the repository has no working tree\./],
    [
      'did not answer in time',
      `mkdir slow; printf '#!/bin/sh\\ncase "$*" in *status*) exec sleep 60;; esac\\nexec %s "$@"\\n' "$(command -v git)" > slow/git; chmod +x slow/git`,
      /git did not answer within 10 s\./,
    ],
  ] as const,
  2,
  1,
)) {
  test(`a start whose git ${what} says so, and not that there is no repository`, (t) => {
    const p = project(t);
    task(p, 'max_iterations: 1');
    const command = agent(p, `echo ${SIGNAL}`);
    commitFolder(p.dir);
    assert.equal(p.sh(prepare).code, 0);
    const path = [join(p.dir, 'slow'), p.env['PATH']].join(':');
    const { stderr } = p.ralph(['run', '--plain', '--agent', command], { PATH: path });
    const [, said = ''] = /There will be no undo: (.*)/.exec(stderr) ?? [];
    assert.match(said, reason, stderr);
    assert.doesNotMatch(said, /not in a git repository/);
  });
}

test('an undo changes nothing, and names the file, where what it rests on is lost', async () => {
  const { p } = ranLoop(CHANGES);
  const { outsideDir } = loopFiles(p.dir, null, p.env);
  const names = ['contract.json.start-point', 'contract.json.ended', 'git-view.json'];
  const [start, contract, rules] = names.map((name) => join(outsideDir, name));
  assert.ok(start && contract && rules);
  const refuses = async (named: RegExp): Promise<void> => {
    const { code, stderr } = await commandHere(p, ['undo', '--yes']);
    assert.notEqual(code, 0);
    assert.match(stderr, named);
    assert.equal(p.read('kept.txt'), 'one\nmine\nagent\n');
  };
  for (const [path, named] of [
    [start, /start-point is missing/],
    [contract, /contract\.json\.ended is missing or was edited/],
    [rules, /git-view\.json is missing/],
  ] as const) {
    renameSync(path, `${path}.away`);
    await refuses(named);
    renameSync(`${path}.away`, path);
  }
  const kept = readFileSync(start, 'utf8');
  writeFileSync(start, kept.replace(/"commit":"[0-9a-f]{40}"/, `"commit":"${'0'.repeat(40)}"`));
  await refuses(/start-point was changed by another program/);
  writeFileSync(start, kept);
  assert.equal((await commandHere(p, ['undo', '--yes'])).code, 0, 'control: whole again');
  assert.equal(p.read('kept.txt'), 'one\nmine\n');
});

/** What the user has prepared and what the agent does; afterwards an undo with new files, and `--back`. */
const ODD: Readonly<Record<string, readonly [prepare: string, act: string, left?: string]>> = {
  'files beside a merge with conflicts': [
    'git checkout -qb o; echo o > kept.txt; git commit -qam o; git checkout -q -; echo m > kept.txt; git commit -qam m; git merge -q o; true',
    'echo n > n.txt',
  ],
  'a file that became a folder': ['', 'rm kept.txt; mkdir kept.txt; echo x > kept.txt/in.txt'],
  'a folder that became a file': ['mkdir d; echo 1 > d/a; git add d; git commit -qm d', 'rm -rf d; echo f > d'],
  'a folder that became a link': [
    'mkdir d ../out; echo 1 > d/a; echo o > ../out/a; git add d; git commit -qm d',
    'rm -rf d; ln -s ../out d',
  ],
  'a file of mode 444': ['chmod 444 kept.txt', 'chmod 644 kept.txt; echo z > kept.txt; chmod 444 kept.txt'],
  'a file of mode 600': ['echo s > s.txt; chmod 600 s.txt', 'echo z > s.txt; echo n > n.txt; chmod 600 n.txt'],
  'a file of --assume-unchanged': [
    'git update-index --assume-unchanged kept.txt; echo local >> kept.txt',
    'echo agent >> kept.txt',
  ],
  'a file of --skip-worktree': [
    'git update-index --skip-worktree kept.txt; echo local >> kept.txt',
    'echo agent >> kept.txt',
  ],
  'a file that may be run where git does not keep that right': [
    'git config core.fileMode false; chmod 755 kept.txt',
    'echo agent >> kept.txt',
  ],
  'an ignored file that a commit was forced to take': [
    'echo priv.txt >> .git/info/exclude; echo p > priv.txt',
    'echo a >> priv.txt; git add -f priv.txt; git commit -qm f',
    'priv.txt',
  ],
  'the rules of git to which a link leads': ['echo o > rules; ln -sf "$PWD/rules" .gitignore', 'echo x > new.txt'],
};

for (const [what, [prepare, act, left]] of someOf(Object.entries(ODD), 4)) {
  test(`undo and --back keep ${what}`, async (t) => {
    const p = project(t);
    p.write('kept.txt', 'one\n');
    task(p, 'max_iterations: 1');
    const command = agent(p, `${act}\necho ${SIGNAL}`);
    p.write('.gitignore', 'runs.txt\n');
    commitFolder(p.dir);
    const sh = (script: string): string => p.sh(script, '', GIT_ENV as NodeJS.ProcessEnv).stdout;
    sh(prepare);
    // Sorted: git writes a file that it restores at another place in its folder.
    const files = (): string =>
      sh(
        "find . ! -type d ! -path './.git/*' ! -path './.claude/*' ! -name runs.txt -printf '%M %l ' -exec md5sum {} \\; | sort",
      );
    const before = files();
    assert.equal(p.ralph(['run', '--plain', '--agent', command]).code, 0);
    const after = files();
    assert.notEqual(after, before, 'control: the agent has changed something');
    const { code, stdout, stderr } = await commandHere(p, ['undo', '--yes', '--new-files']);
    assert.equal(code, 0, stderr);
    if (left === undefined) assert.equal(files(), before);
    else assert.match(stdout, new RegExp(`Left alone:\n {2}${left} `));
    assert.equal((await commandHere(p, ['undo', '--back'])).code, 0);
    assert.equal(files(), after);
  });
}

for (const word of someOf(['for-each-ref', 'update-index --add'], 2)) {
  test(`an undo that another one overtakes before git ${word} loses nothing: both can be taken back`, async () => {
    const { p, git } = ranLoop(COMMITS);
    const look = (): unknown[] => [
      git('rev-parse', 'HEAD'),
      git('status', '--porcelain', '--', ':!.claude'),
      ...['kept.txt', 'new.txt', 'two.txt'].map((path) => (p.has(path) ? p.read(path) : null)),
    ];
    const end = look();
    const undo = `PATH='${p.env['PATH']}' '${process.execPath}' '${MAIN}' undo --yes --new-files > /dev/null`;
    const once = `case "$*" in *" ${word} "*) mkdir .git/once 2> /dev/null && ${undo};; esac`;
    p.write('.git/slow/git', `#!/bin/sh\n${once}\nexec "$GIT" "$@"\n`, 0o755);
    const GIT = p.sh('command -v git').stdout.trim();
    await commandHere(p, ['undo', '--yes', '--new-files'], {
      PATH: [join(p.dir, '.git/slow'), p.env['PATH']].join(':'),
      GIT,
    });
    assert.deepEqual(look().slice(2), ['one\nmine\n', null, null], 'control: undone');
    assert.ok(p.has('.git/once'), 'control: by two');
    while ((await commandHere(p, ['undo', '--back'])).code === 0);
    assert.deepEqual(look(), end);
  });
}
