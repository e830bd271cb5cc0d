import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { shellWord } from '../../src/text/quote.ts';
import { inLoopProject, type LoopProject, mainPath } from '../support/client/loop-project.ts';
import { ofType, runRunner } from '../support/client/runner.ts';
import type { Workspace } from '../support/client/workspace.ts';
import { bash, type Step, steps, text, tool } from '../support/model/scripted-model.ts';
import { IS_LONG, longTest } from '../support/short-form.ts';
import { until } from '../support/until.ts';

const EVENTS = '.claude/context/runtime/ralph-events.jsonl';

/** A program of the agent's: the guard cannot read what it deletes. */
const LOSE = `import glob, os
for path in glob.glob(os.environ['XDG_STATE_HOME'] + '/ralph-' + 'loop/*/contract.json'):
    os.remove(path)
open('tests/a.test.js', 'w').write('spoiled')
`;
/** The same, which deletes the state in the project as well. */
const LOSE_BOTH = LOSE.replace('open(', "os.remove('.claude/context/run' + 'time/ralph-state.json')\nopen(");
const OPTIONS = {
  frontmatter: 'max_iterations: 4\nguardrails:\n  protected_files: ["tests/**"]\n  block_commands: ["touch pushed"]',
  files: {
    'lose.py': LOSE,
    'lose-both.py': LOSE_BOTH,
    'keep.py': LOSE.replace('os.remove(path)', 'pass'),
    'tests/a.test.js': 'a\n',
  },
};
const COMPLETE = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const NAMED = /contract\.json is missing/;

/** The agent's first turn deletes the contract and then calls a blocked command; a later one claims to be done. */
const script = (program = 'lose.py', last: Step = text('That was all.')) =>
  steps([
    bash(`python3 ${program}`),
    bash('touch pushed'),
    last,
    bash('echo work > work.txt'),
    text(`Done.\n\n${COMPLETE}`),
  ]);

/** After the loss a file tool and a blocked command are tried, and completion is claimed. */
const afterLoss = () =>
  steps([
    bash('python3 lose-both.py'),
    tool('Write', { file_path: 'own.txt', content: 'own' }),
    bash('touch pushed'),
    text(`Done.\n\n${COMPLETE}`),
    text('And on.'),
  ]);

const requests = ({ model }: LoopProject): string => model.requests.map(({ body }) => JSON.stringify(body)).join('\n');

/** `ralph-loop resume` at a terminal of its own, at which a person types yes. */
async function resumeInPerson(
  project: LoopProject,
  ...more: string[]
): Promise<{ readonly code: number | null; readonly shown: string }> {
  const words = [mainPath, 'resume', '--permission-mode', 'bypassPermissions', ...more];
  const line = [process.execPath, ...words].map(shellWord).join(' ');
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    cwd: project.workspace.project,
    env: project.environment(),
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (shown += chunk));
  child.stdin.end('yes\n');
  const [code] = await once(child, 'close');
  return { code, shown };
}

function isPaused(project: LoopProject): void {
  const state = project.state() as { status?: string; paused?: { reason?: string } } | null;
  assert.deepEqual([state?.status, state?.paused?.reason], ['paused', 'evidence-lost']);
  assert.equal(project.workspace.has('pushed'), false, 'the blocked command did not run');
  assert.match(requests(project), /only reading is allowed/, 'the model is told');
  assert.match(requests(project), NAMED);
}

test('a runner whose contract is deleted denies the next call, names the file, pauses, and resumes', async () => {
  // The runner looks at its files three times a second; the turn ends when the user has been told.
  const told = ({ jsonLines }: Workspace): boolean =>
    jsonLines(EVENTS).some(({ type, message }) => type === 'agent.notice' && NAMED.test(`${message}`));
  const waiting = (workspace: Workspace) =>
    script('lose.py', async () => {
      await until('the user is told', () => told(workspace));
      return text('That was all.');
    });
  await inLoopProject({ standIn: !IS_LONG, ...OPTIONS, init: false }, waiting, async (project) => {
    const run = await runRunner(project);
    assert.equal(run.code, 3, run.stdout + run.stderr);
    isPaused(project);
    const notices = ofType(run.events, 'agent.notice').map(({ message }) => String(message));
    assert.equal(notices.filter((message) => NAMED.test(message)).length, 1, notices.join('\n'));
    const types = run.events.map(({ type }) => type);
    const noticed = run.events.findIndex((event) => event.type === 'agent.notice' && NAMED.test(String(event.message)));
    assert.ok(noticed < types.indexOf('agent.ended'), 'the user is told before the turn ends');
    assert.match(run.stdout, NAMED);
    const again = await runRunner(project, { args: ['--resume'] });
    assert.notEqual(again.code, 0, again.stdout);
    assert.match(again.stdout + again.stderr, NAMED, 'nobody at a terminal has agreed');
    assert.equal(project.workspace.has('work.txt'), false);
    const { code, shown } = await resumeInPerson(project);
    assert.equal(code, 0, shown);
    assert.match(shown, /The user took the state of this moment as a new start/);
  });
});

longTest(
  'a launched session whose contract is deleted denies the next call, names it, pauses and resumes',
  async () => {
    await inLoopProject(OPTIONS, script(), async (project) => {
      const run = await project.run();
      assert.equal(run.code, 3, run.said + run.stderr);
      isPaused(project);
      assert.match(run.said, NAMED);
      const again = await project.run({ args: ['--resume'] });
      assert.notEqual(again.code, 0);
      assert.match(again.said + again.stderr, NAMED, 'nobody at a terminal has agreed');
      assert.equal(project.workspace.has('work.txt'), false);
      const { code, shown } = await resumeInPerson(project, '--headless');
      assert.equal(code, 0, shown);
      assert.equal(project.ended().as, 'complete');
      assert.ok(project.workspace.has('work.txt'));
    });
  },
);

test('a launched session without contract and state runs no further command, and its end names the file', async () => {
  await inLoopProject(OPTIONS, afterLoss(), async (project) => {
    const run = await project.run();
    for (const name of ['pushed', 'own.txt']) assert.equal(project.workspace.has(name), false, name);
    assert.match(requests(project), /contract\.json (?:is|are) missing/, 'the model is told');
    assert.equal(run.code, 1, run.said);
    assert.match(run.said, /This loop is lost: its state \S+ and its contract \S+contract\.json are missing/);
  });
  const kept = { ...OPTIONS, files: { ...OPTIONS.files, 'lose-both.py': OPTIONS.files['keep.py'] } };
  await inLoopProject({ ...kept, standIn: !IS_LONG }, afterLoss(), async (project) => {
    await project.run();
    assert.deepEqual([project.workspace.has('own.txt'), project.workspace.has('pushed')], [true, false], 'control');
  });
});

test('control: with its contract, the same calls are judged by its rules, and the loop goes on', async () => {
  await inLoopProject({ ...OPTIONS, init: false, standIn: !IS_LONG }, script('keep.py'), async (project) => {
    const run = await runRunner(project);
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.equal(project.workspace.has('pushed'), false);
    assert.equal(project.workspace.read('tests/a.test.js'), 'a\n');
    assert.doesNotMatch(run.stdout, /Evidence of this loop is lost/);
  });
});

/** Rewrites an entry with its digest, so that both say the same. */
const AGREEING = `import glob, hashlib, json, os
for path in glob.glob(os.environ['XDG_STATE_HOME'] + '/ralph-' + 'loop/*/seen.json'):
    text = open(path).read() + ' '
    open(path, 'w').write(text)
    manifest = path.replace('seen', 'evidence')
    entries = json.load(open(manifest))
    entries['entries']['seen'] = {'is': hashlib.sha256(text.encode()).hexdigest()}
    json.dump(entries, open(manifest, 'w'))
`;

longTest('a runner notices evidence that a program of the agent rewrites together with its digest', async () => {
  const files = { ...OPTIONS.files, 'lose.py': AGREEING };
  await inLoopProject({ ...OPTIONS, files, init: false }, script(), async (project) => {
    const run = await runRunner(project);
    assert.equal(run.code, 3, run.stdout + run.stderr);
    assert.match(run.stdout, /seen\.json was changed by another program/);
  });
});
