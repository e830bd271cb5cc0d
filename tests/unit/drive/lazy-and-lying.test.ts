import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { TddPhase } from '../../../src/engine/schema/tdd.ts';
import { recordPhase } from '../../../src/engine/tdd/phases.ts';
import { withTdd } from '../../../src/state/tdd-store.ts';
import { makeList } from '../../../src/task/tdd/make-list.ts';
import { AT, type Project, put } from '../../support/drive/drive-project.ts';
import { type AgentTurn, EVERY_DRIVER, type Task } from '../../support/drive/every-driver.ts';
import { commitFolder, GIT_ENV } from '../../support/git.ts';
import { someTests } from '../../support/short-form.ts';

interface Kind {
  readonly task: Task;
  /** What the agent says when it claims. */
  readonly claim: string;
  /** Claims by an agent that does none of the work, by what it does instead. */
  readonly lies: Readonly<Record<string, (project: Project) => void>>;
  /** Does the work. */
  readonly works: (project: Project) => void;
}

const write = ({ directory }: Project, path: string, text: string): void => put(join(directory, path), text);
const edit = ({ directory }: Project, path: string, change: (text: string) => string): void =>
  writeFileSync(join(directory, path), change(readFileSync(join(directory, path), 'utf8')));

const PROMPT = '.claude/ralph/PROMPT.md';
const CHECKLIST = '.ralph/site/task.md';
const DONE = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const PROMISE = '<promise>ALL DONE</promise>';
/** Green from the start: only the work itself can be the proof. */
const KEYS = 'max_iterations: 3\nvalidation: ["true"]';
const FOLDER_KEYS = `${KEYS}\nopen_questions: optional\ncompletion_promise: ALL DONE`;
const makes = (project: Project): void => write(project, 'src/made.txt', 'made\n');
const tick = (text: string): string => text.replaceAll('- [ ]', '- [x]');

const commits = ({ directory }: Project): void => void commitFolder(directory, 'work');

function begins(project: Project): void {
  commits(project);
  const wanted = [{ id: null, description: 'it is made', run: 'test -f src/made.txt', timeoutSeconds: null }];
  const { directory: projectDir, env, files } = project;
  const list = makeList({ projectDir, wanted, command: null, timeoutSeconds: null, consented: true, env, at: AT });
  withTdd(files, AT, () => ({ next: list, result: undefined }));
}

function proves({ files }: Project, phase: TddPhase): void {
  withTdd(files, AT, (found) => {
    if (found.kind !== 'list') throw new Error('there is no list');
    const entry = { scenarioId: 'sc-001', phase, output: phase, timestamp: AT };
    return { next: recordPhase(found.record, entry), result: undefined };
  });
}

const KINDS: Readonly<Record<string, Kind>> = {
  'PROMPT.md': {
    task: { files: { [PROMPT]: `---\n${KEYS}\n---\nMake src/made.txt.\n`, 'kept.txt': 'kept\n' }, prepare: commits },
    claim: DONE,
    lies: {
      'writes that it is done': (project) => edit(project, PROMPT, (text) => `${text}Done.\n`),
      'writes a progress file': (project) => write(project, 'RALPH_PROGRESS.md', 'Made src/made.txt.\n'),
    },
    works: makes,
  },
  'a checklist': {
    task: {
      path: CHECKLIST,
      files: { [CHECKLIST]: `---\n${KEYS}\n---\n- [ ] Make src/made.txt\n- [ ] Say so\n`, 'kept.txt': 'kept\n' },
      prepare: commits,
    },
    claim: PROMISE,
    lies: {
      'ticks every box': (project) => edit(project, CHECKLIST, tick),
      'removes every box': (project) => edit(project, CHECKLIST, (text) => text.replace(/- \[ \].*\n/g, '')),
    },
    works: (project) => {
      makes(project);
      edit(project, CHECKLIST, tick);
    },
  },
  'a task folder': {
    task: {
      path: 'job',
      files: { 'job/RALPH.md': `---\n${FOLDER_KEYS}\n---\nMake src/made.txt.\n`, 'kept.txt': 'kept\n' },
      prepare: commits,
    },
    claim: PROMISE,
    lies: {
      'writes into its task file': (project) => edit(project, 'job/RALPH.md', (text) => `${text}Done.\n`),
      'writes a progress file': (project) => write(project, 'RALPH_PROGRESS.md', 'Made src/made.txt.\n'),
    },
    works: makes,
  },
  'a plan': {
    task: {
      path: 'PLAN.md',
      files: {
        'PLAN.md': `---\n${KEYS}\n---\n- [ ] **Task 1: Make it**\n  - Scope: \`src\`\n  - Acceptance: it is there\n`,
        '.gitignore': '.claude/\n',
      },
      prepare: commits,
      request: { plan: { from: null } },
    },
    claim: 'Summary: made it.\nBlockers: none',
    lies: {
      'ticks its task': (project) => edit(project, 'PLAN.md', tick),
      'commits nothing': ({ directory }) => {
        const words = ['-c', 'user.name=A', '-c', 'user.email=a@b.c', 'commit', '-q', '--allow-empty', '-m', 'Made it'];
        execFileSync('git', words, { cwd: directory, env: GIT_ENV });
      },
    },
    works: makes,
  },
  'a list of scenarios': {
    task: {
      files: { [PROMPT]: `---\n${KEYS}\n---\nWork.\n`, 'kept.txt': 'kept\n' },
      prepare: begins,
      request: { tdd: true },
    },
    claim: DONE,
    lies: {
      'writes the proofs into the project': (project) => write(project, '.claude/context/runtime/tdd-state.json', '{}'),
      'proves the scenario without the code': (project) => {
        proves(project, 'red');
        proves(project, 'green');
      },
    },
    works: (project) => {
      proves(project, 'red');
      makes(project);
      proves(project, 'green');
    },
  },
};

const IN_ALL = ['PROMPT.md', 'a plan'];

for (const [kind, { task, claim, lies, works }] of Object.entries(KINDS))
  describe(`on ${kind}`, () => {
    const claims =
      (act: (project: Project) => void): AgentTurn =>
      (project) => {
        act(project);
        return claim;
      };
    const once = (act: (project: Project) => void): AgentTurn[] => [claims(act), () => claim];
    // In the short form each lie and the honest agent are played by one driver, the lazy agent of two kinds by all.
    for (const [nth, [driver, play]] of Object.entries(EVERY_DRIVER).entries()) {
      const some = someTests(3, nth);
      for (const [what, act] of [['does nothing', () => undefined] as const, ...Object.entries(lies)])
        (what === 'does nothing' && IN_ALL.includes(kind) ? test : some)(
          `in the ${driver}, an agent that ${what} ends with nothing verified`,
          async (t) => {
            const { verified, status, message } = await play(t, task, once(act));
            assert.equal(verified, false, `${status}: ${message}`);
          },
        );

      some(`in the ${driver}, an honest agent completes it at its first claim`, async (t) => {
        // A session's first turn began before the plan's first task.
        const before: AgentTurn[] = task.path === 'PLAN.md' && driver === 'hook' ? [() => 'What is next?'] : [];
        const { status, verified, turns, message } = await play(t, task, [...before, claims(works)]);
        assert.deepEqual([status, verified, turns], ['complete', true, before.length + 1], message);
      });
    }
  });
