import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { requireClientArgs } from '../../src/hosts/claude/claude-code.ts';
import { findClientBinary, IS_NAMED } from '../support/client/client-binary.ts';
import { inLoopProject } from '../support/client/loop-project.ts';
import { ofType, runRunner } from '../support/client/runner.ts';
import { steps, text } from '../support/model/scripted-model.ts';
import { someOf } from '../support/short-form.ts';

const DONE = text('Done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');

/** Options of the client that a loop passes on: they change what the agent may do, knows and costs. */
const PASSED = `--add-dir --agent --agents --allow-dangerously-skip-permissions --allowed-tools --allowedTools
--append-system-prompt --autocompact --ax-screen-reader --betas --brief --chrome --dangerously-skip-permissions --debug
--debug-file --disable-slash-commands --disallowed-tools --disallowedTools --effort
--exclude-dynamic-system-prompt-sections --fallback-model --file --ide --max-budget-usd --mcp-config --model --name
--no-chrome --permission-mode --permission-prompts --plugin-dir --plugin-url --prompt-suggestions --remote-control
--remote-control-session-name-prefix --restricted --strict-mcp-config --system-prompt --system-prompt-snapshot
--tools`.split(/\s+/);

function isRefused(option: string): boolean {
  try {
    requireClientArgs([option], 'run');
    return false;
  } catch {
    return true;
  }
}

test('every option in the help of the client is either refused or known to be harmless', () => {
  const help = execFileSync(findClientBinary(), ['--help'], { encoding: 'utf8' });
  const [, part = ''] = help.split(/^Options:$/m);
  const options = [...part.matchAll(/^ {2}(-.*?)(?: {2}|$)/gm)].flatMap(
    ([, names = '']) => names.match(/--[a-zA-Z-]+/g) ?? [],
  );
  assert.ok(options.length > 50, `control: ${options.length} options were found`);
  const open = options.filter((option) => !isRefused(option) && !PASSED.includes(option));
  // Of another client than the pinned one, new options are no failure: it refuses none of ours.
  if (!IS_NAMED) assert.deepEqual(open, []);
  const lost = ['--worktree', '--continue', '--resume', '--session-id', '--settings', '--bare', '--output-format'];
  assert.deepEqual(
    lost.filter((option) => !options.includes(option)),
    [],
    'the options that are refused are still those of the client',
  );
});

const REFUSED: readonly (readonly string[])[] = [
  ['--worktree', 'feat'],
  ['--continue'],
  ['--output-format=json'],
  ['--bg'],
  ['--settings', '{}'],
  ['--bare'],
];

test('an option that would take the agent out of the loop is refused before the model is called', async () => {
  await inLoopProject({ git: true }, steps([]), async (project) => {
    for (const options of someOf(REFUSED, 2)) {
      const run = await runRunner(project, { args: ['--', ...options] });
      assert.equal(run.code, 1, run.stdout + run.stderr);
      const [name = ''] = (options[0] ?? '').split('=');
      assert.match(run.stderr, new RegExp(`^ralph-loop: -- ${name}: `));
    }
    const launched = await project.run({ clientArgs: ['--worktree', 'feat'] });
    assert.equal(launched.code, 1, launched.said);
    assert.match(launched.said, /-- --worktree: the agent would work where the loop does not look/);
    assert.equal(project.state(), null, 'no loop was created');
    assert.equal(project.model.mainRequests().length, 0);
  });
});

const UNKNOWN: readonly (readonly string[])[] = [
  ['--not-an-option'],
  ['--settings-file', '/no/such'],
  ['--mcp-config', '/no/such.json'],
];

test('an option that the client refuses ends the loop at once, in the words of the client', async () => {
  await inLoopProject({}, steps([]), async (project) => {
    for (const options of someOf(UNKNOWN, 2)) {
      const run = await runRunner(project, { args: ['--fresh', '--', ...options] });
      assert.equal(run.code, 1, run.stdout + run.stderr);
      assert.deepEqual(
        ofType(run.events, 'agent.ended').map(({ outcome }) => outcome),
        ['options'],
        'it was started once',
      );
      assert.equal(ofType(run.events, 'wait.started').length, 0);
      const [ended] = ofType(run.events, 'run.ended');
      assert.match(ended?.message ?? '', /^Stopped: Claude Code refused to start: .*(?:--|MCP)/);
    }
    assert.equal(project.model.mainRequests().length, 0);
  });
});

test('control: an option that the client knows reaches it, and the loop completes', async () => {
  await inLoopProject({}, steps([DONE]), async (project) => {
    const run = await runRunner(project, { args: ['--', '--append-system-prompt', 'SAID-BY-THE-USER'] });
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.match(JSON.stringify(project.model.mainRequests()[0]), /SAID-BY-THE-USER/);
  });
});
