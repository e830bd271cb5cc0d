import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { recordPhase } from '../../../src/engine/tdd/phases.ts';
import { loopFiles } from '../../../src/state/loop-files.ts';
import { withTdd } from '../../../src/state/tdd-store.ts';
import { makeList } from '../../../src/task/tdd/make-list.ts';
import { AT, type Project, put } from '../drive/drive-project.ts';
import { DRIVES, type Task, taskProject } from '../drive/every-driver.ts';
import { commitFolder, GIT_ENV } from '../git.ts';

/** A loop whose agent works for a turn and claims in the second one. `inTurn` damages a file before the claim. */
export type PlayColumn = (
  t: TestContext,
  inTurn: (project: Project) => void,
  begun: (project: Project) => void,
) => Promise<Project>;

interface Column {
  readonly play: PlayColumn;
  /** Column with the same driver: only files that its loops lack, and the manifest, are damaged here again, for each run takes seconds. */
  readonly drivenBy?: string;
}

const PROMPT = '.claude/ralph/PROMPT.md';
const CLAIM = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const TERMS = 'validation: ["true"]\nunchanged: ["fixed/**"]\nguardrails:\n  protected_files: ["kept/**"]';
const FILES = {
  [PROMPT]: `---\nmax_iterations: 4\n${TERMS}\n---\nWork.\n`,
  'fixed/a.txt': 'a\n',
  'kept/b.txt': 'b1\n',
  'src/c.txt': 'c\n',
};
const PLAN = `---\n${TERMS}\n---\n# Plan\n\n- [ ] **Task 1: Make it**\n  - Scope: \`src\`\n  - Acceptance: it is there\n`;

interface Turns {
  readonly inTurn: (project: Project) => void;
  readonly begun: (project: Project) => void;
  /** Work of the first turn, which claims nothing. Default: the first turn claims. */
  readonly first?: () => void;
  readonly claim?: string;
}

/** Plays the turns up to the claim, which is true. */
async function played(
  drive: (typeof DRIVES)['hook'],
  project: Project,
  task: Task,
  { inTurn, begun, first, claim = CLAIM }: Turns,
): Promise<Project> {
  const claimsAt = first === undefined ? 1 : 2;
  let turn = 0;
  await drive(
    project,
    task,
    () => {
      turn += 1;
      if (turn === 1) begun(project);
      if (turn < claimsAt) {
        first?.();
        return `Turn ${turn}.`;
      }
      if (turn === claimsAt) {
        put(join(project.directory, 'src', 'c.txt'), 'changed\n');
        inTurn(project);
      }
      return `Turn ${turn}.\n\n${claim}`;
    },
    [],
  );
  return project;
}

const inFolder =
  (drive: 'hook' | 'runner' | 'router', prepare?: (project: Project) => void): PlayColumn =>
  (t, inTurn, begun) => {
    const task: Task = { files: FILES, ...(prepare && { prepare }) };
    return played(DRIVES[drive], taskProject(t, task), task, { inTurn, begun, first: () => undefined });
  };

/** One loop on a plan, in the project or, as part of a parallel run, in a worktree of it. */
const onPlan =
  (isPart: boolean): PlayColumn =>
  async (t, inTurn, begun) => {
    const files = { ...FILES, 'PLAN.md': PLAN, '.gitignore': '.claude/context/\n' };
    const main = taskProject(t, { files });
    commitFolder(main.directory, 'work');
    const project = isPart ? worktreeOf(main) : main;
    const part = {
      task: '1',
      mainDir: main.directory,
      branch: 'work',
      done: 0,
      noChange: [],
      takeTurn: () => Promise.resolve([]),
      endTurn: () => undefined,
    };
    const task: Task = {
      path: 'PLAN.md',
      files,
      request: { plan: { from: null, ...(isPart && { only: '1' }) } },
      ...(isPart && { part }),
    };
    return played(DRIVES.runner, project, task, { inTurn, begun, claim: 'Summary: made it.' });
  };

function worktreeOf({ directory, env }: Project): Project {
  const path = join(dirname(directory), 'part');
  execFileSync('git', ['worktree', 'add', '--quiet', '-b', 'part', path], { cwd: directory, env: GIT_ENV });
  mkdirSync(join(path, '.claude'), { recursive: true });
  const own = { ...env, CLAUDE_PROJECT_DIR: path };
  return { directory: path, env: own, files: loopFiles(path, null, own) };
}

const testFirst: PlayColumn = (t, inTurn, begun) => {
  const task: Task = { files: FILES, request: { tdd: true } };
  const project = taskProject(t, task);
  const { directory, files, env } = project;
  const wanted = [{ id: null, description: 'it is there', run: 'test -f src/c.txt', timeoutSeconds: null }];
  const list = makeList({
    projectDir: directory,
    wanted,
    command: null,
    timeoutSeconds: null,
    consented: true,
    env,
    at: AT,
  });
  withTdd(files, AT, () => ({ next: list, result: undefined }));
  const prove = (phase: 'red' | 'green'): void => {
    withTdd(files, AT, (found) => {
      if (found.kind !== 'list') throw new Error('there is no list');
      const entry = { scenarioId: 'sc-001', phase, output: phase, timestamp: AT };
      return { next: recordPhase(found.record, entry), result: undefined };
    });
  };
  const damage = (damaged: Project): void => {
    prove('green');
    inTurn(damaged);
  };
  return played(DRIVES.hook, project, task, { inTurn: damage, begun, first: () => prove('red') });
};

export const COLUMNS: Readonly<Record<string, Column>> = {
  session: { play: inFolder('hook') },
  runner: { play: inFolder('runner') },
  router: { play: inFolder('router') },
  plan: { play: onPlan(false), drivenBy: 'runner' },
  parallel: { play: onPlan(true), drivenBy: 'runner' },
  TDD: { play: testFirst },
};
