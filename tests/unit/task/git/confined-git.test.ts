import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Sandbox } from '../../../../src/engine/schema/contract.ts';
import { readGitPins } from '../../../../src/task/git/git-pins.ts';
import { passingView } from '../../../../src/task/git/git-view.ts';
import { readRepository } from '../../../../src/task/git/read-repository.ts';
import { recordTree, repositoryAround } from '../../../../src/task/git/record-tree.ts';
import { changeByGit } from '../../../../src/task/git/run-git.ts';
import { emptyFolder, writeFiles } from '../../../support/folder.ts';
import { ENV, git, repository } from '../../../support/repository.ts';
import { TEST_TIMEOUT_MS } from '../../../support/until.ts';

const TERMS: Sandbox = { allowWrite: [], denyWrite: [], denyRead: [], network: false };

interface Trap {
  readonly directory: string;
  readonly head: string;
  /** What the agent's program writes, outside the project. */
  readonly ran: string;
}

/** Gives a file other content of the same size: only its filtered content, not its size, tells git of the change. */
function changeUnseen(path: string, content: string): void {
  writeFileSync(path, content);
  utimesSync(path, 1e9, 1e9);
}

/** A repository in which an agent in the sandbox has named a program that git runs to compare contents. */
const TRAPS: Readonly<Record<string, (t: TestContext) => Trap>> = {
  'a repository within': (t) => {
    const directory = repository(t);
    const head = git(directory, 'rev-parse', 'HEAD').trim();
    const ran = join(emptyFolder(t), 'ran');
    const inner = join(directory, 'inner');
    writeFiles(directory, { 'inner/.gitattributes': '* filter=x\n', 'inner/a.txt': 'a\n' });
    git(inner, 'init', '--quiet');
    git(inner, 'add', '--all');
    git(inner, 'commit', '--quiet', '--message', 'inner');
    git(directory, 'add', 'inner');
    git(directory, 'commit', '--quiet', '--message', 'linked');
    git(inner, 'config', 'filter.x.clean', `touch '${ran}'; cat`);
    changeUnseen(join(inner, 'a.txt'), 'b\n');
    return { directory, head, ran };
  },
  'another folder of settings': (t) => {
    const directory = repository(t);
    const head = git(directory, 'rev-parse', 'HEAD').trim();
    const ran = join(emptyFolder(t), 'ran');
    git(directory, 'clone', '--quiet', '--bare', '.', 'other');
    git(join(directory, 'other'), 'config', 'filter.x.clean', `touch '${ran}'; cat`);
    writeFiles(directory, { '.git/commondir': '../other\n', '.gitattributes': '*.ts filter=x\n' });
    const path = join(directory, 'src/a.ts');
    changeUnseen(path, readFileSync(path, 'utf8').toUpperCase());
    return { directory, head, ran };
  },
};

const ASKED: Readonly<Record<string, (trap: Trap, sandbox?: Sandbox) => Promise<unknown>>> = {
  'the files at the end of a loop': async ({ directory }, sandbox) => {
    const around = await repositoryAround(directory, ENV, sandbox);
    return around && recordTree(around, 'refs/ralph-loop/loop-1/end', 'end');
  },
  'the state of a plan’s repository': ({ directory }, sandbox) =>
    readRepository(directory, { env: ENV, signal: AbortSignal.timeout(TEST_TIMEOUT_MS), sandbox }),
};

for (const [where, set] of Object.entries(TRAPS))
  for (const [what, ask] of Object.entries(ASKED))
    test(`runs no program outside the sandbox that ${where} names, for ${what}`, async (t) => {
      const trap = set(t);
      const answer = await ask(trap, TERMS);
      assert.ok(answer !== null && typeof answer === 'object', String(answer));
      assert.equal(existsSync(trap.ran), false);
      await ask(trap);
      assert.equal(existsSync(trap.ran), true, 'control: outside the sandbox');
    });

test('records the files of a linked worktree in the sandbox, but into no folder that the agent names', async (t) => {
  const directory = repository(t);
  const [place, named] = [join(directory, '.ralph/worktrees/linked'), join(emptyFolder(t), 'named')];
  git(directory, 'worktree', 'add', '--quiet', place);
  appendFileSync(join(place, 'src/a.ts'), 'more\n');
  const record = async (name: string) => {
    const around = await repositoryAround(place, ENV, TERMS);
    assert.ok(around !== null);
    return recordTree(around, `refs/ralph-loop/loop-1/${name}`, name);
  };
  const { commit } = await record('end');
  assert.match(git(directory, 'show', '--name-only', '--format=', commit), /src\/a\.ts/);
  git(directory, 'clone', '--quiet', '--bare', '.', named);
  writeFileSync(join(directory, '.git/worktrees/linked/commondir'), named);
  await assert.rejects(record('named'));
  assert.equal(git(named, 'for-each-ref', 'refs/ralph-loop'), '');
});

test('a commit of the loop runs filters and hooks in the sandbox, which write nothing outside the project', async (t) => {
  const directory = repository(t);
  const [out, state] = [emptyFolder(t), emptyFolder(t)];
  const options = { env: { ...ENV, XDG_STATE_HOME: state }, signal: AbortSignal.timeout(TEST_TIMEOUT_MS) };
  const pins = await readGitPins(directory, options);
  assert.ok(pins !== null);
  passingView(join(state, 'view'), pins);
  const hook = `#!/bin/sh\ntouch '${out}/hook' .git/config.new; echo "[x]" >> .git/config; touch by-hook\nexit 0\n`;
  writeFiles(directory, { '.gitattributes': '*.ts filter=x\n', '.git/hooks/pre-commit': hook });
  git(directory, 'update-index', '--refresh');
  git(directory, 'config', 'core.fileMode', 'true');
  git(directory, 'config', 'filter.x.clean', `touch '${out}/filter'; cat`);
  const commit = async (isConfined: boolean) => {
    mkdirSync(out, { recursive: true });
    appendFileSync(join(directory, 'src/a.ts'), 'more\n');
    const sandbox = { terms: TERMS, writable: pins.top, readable: pins.top, gitDir: join(directory, '.git') };
    const change = { directory, env: options.env, hooks: true, ...(isConfined && { sandbox }) };
    for (const words of [
      ['add', '--all'],
      ['-c', 'user.name=x', '-c', 'user.email=x@y', 'commit', '-qm', 'work'],
    ]) {
      const done = await changeByGit({ ...change, words });
      assert.ok(done.ok, JSON.stringify(done));
    }
    return { filter: existsSync(join(out, 'filter')), hook: existsSync(join(out, 'hook')) };
  };
  chmodSync(join(directory, '.git/hooks/pre-commit'), 0o755);
  const config = readFileSync(join(directory, '.git/config'), 'utf8');
  assert.deepEqual(await commit(true), { filter: false, hook: false });
  assert.match(git(directory, 'log', '-1', '--format=%s'), /^work/);
  assert.equal(readFileSync(join(directory, '.git/config'), 'utf8'), config, 'its settings are read-only');
  assert.ok(existsSync(join(directory, 'by-hook')), 'the hook ran');
  rmSync(join(directory, '.git/config.new'), { force: true });
  assert.deepEqual(await commit(false), { filter: true, hook: true }, 'control: outside the sandbox');
});
