import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { collector } from '../support/otlp-collector.ts';
import { type Project, project } from '../support/project.ts';
import { agent, MAIN, task } from './support/command-agent.ts';

/** A text of each file of src/telemetry that is in no other file of the program. */
const MARKS = {
  'send.ts': 'invoke_workflow',
  'settings.ts': 'OTEL_SDK_DISABLED',
};

/** Loaded into node before a program of ours: it notes every chunk of the program that runs, and the telemetry in it. */
const NOTING = `
const { appendFileSync } = require('node:fs');
const { basename } = require('node:path');
const { Script } = require('node:vm');
const MARKS = Object.entries(${JSON.stringify(MARKS)});
const load = Script.prototype.runInThisContext;
Script.prototype.runInThisContext = function (...words) {
  const chunk = load.apply(this, words);
  if (typeof chunk !== 'function') return chunk;
  const text = String(chunk);
  const found = MARKS.filter(([, mark]) => text.includes(mark)).map(([name]) => name);
  appendFileSync(process.env.NOTED_CHUNKS, basename(process.argv[1]) + ' ' + found.join(' ') + '\\n');
  return chunk;
};
`;

interface Noted {
  /** Programs of ours that ran, each once. */
  readonly programs: readonly string[];
  /** Files of src/telemetry that they loaded. */
  readonly telemetry: readonly string[];
}

/** Does something with node noting what it loads. */
async function noting(p: Project, act: (env: NodeJS.ProcessEnv) => unknown): Promise<Noted> {
  const notes = join(p.home, 'chunks.txt');
  rmSync(notes, { force: true });
  await act({ NODE_OPTIONS: `--require=${join(p.home, 'noting.cjs')}`, NOTED_CHUNKS: notes });
  const lines = existsSync(notes) ? readFileSync(notes, 'utf8').trim().split('\n') : [];
  const words = lines.map((line) => line.split(' '));
  const unique = (all: readonly string[]): string[] => [...new Set(all.filter(Boolean))].sort();
  return {
    programs: unique(words.map(([program = '']) => program)),
    telemetry: unique(words.flatMap((all) => all.slice(1))),
  };
}

const TASK = 'validation:\n  - name: built\n    run: test -f done.txt\nmax_iterations: 4';

function noted(t: TestContext): Project {
  const p = project(t);
  p.write('../home/noting.cjs', NOTING);
  task(p, TASK);
  return p;
}

/** Runs a loop of two iterations to its end, without blocking the collector in this process. */
async function runLoop(p: Project, env: NodeJS.ProcessEnv): Promise<void> {
  const script = '[ -e second ] && touch done.txt && echo RALPH_AUDIT_COMPLETE_NO_FINDINGS\ntouch second';
  const child = spawn(process.execPath, [MAIN, 'run', '--agent', agent(p, script)], {
    ...{ cwd: p.dir, env: { ...p.env, ...env }, stdio: 'ignore' },
  });
  assert.deepEqual(await once(child, 'exit'), [0, null]);
}

/** Calls each hook of a session once. */
function callHooks(p: Project, env: NodeJS.ProcessEnv): void {
  const { loopId } = p.ralph(['start', '--json'], env).json;
  const inside = { ...env, RALPH_ACTIVE: '1', RALPH_LOOP_ID: String(loopId), CLAUDE_PROJECT_DIR: p.dir };
  const call = (hook: string, event: string, more: object): void => {
    const input = { hook_event_name: event, session_id: 's', prompt_id: 'p', cwd: p.dir, ...more };
    const { code, stderr } = p.sh(`node .claude/hooks/ralph-${hook}.cjs`, JSON.stringify(input), inside);
    assert.equal(code, 0, stderr);
  };
  const bash = { tool_name: 'Bash', tool_input: { command: 'touch a.txt' }, tool_use_id: 't' };
  call('session-start', 'SessionStart', { source: 'startup' });
  call('user-prompt-submit', 'UserPromptSubmit', { prompt: 'Begin.' });
  call('pre-tool-use', 'PreToolUse', bash);
  call('post-tool-use', 'PostToolUse', { ...bash, tool_response: {} });
  call('stop-hook', 'Stop', { last_assistant_message: 'RALPH_AUDIT_COMPLETE_NO_FINDINGS' });
}

const HOOKS = ['post-tool-use', 'pre-tool-use', 'session-start', 'stop-hook', 'user-prompt-submit'];
const HOOK_FILES = HOOKS.map((name) => `ralph-${name}.cjs`);

test('without an endpoint a run loads nothing of telemetry; control: with one it loads all of it', async (t) => {
  assert.deepEqual(readdirSync('src/telemetry').sort(), Object.keys(MARKS));
  const [without, exported] = [noted(t), noted(t)];
  const nothing = await noting(without, (env) => runLoop(without, env));
  assert.deepEqual(nothing, { programs: ['main.cjs'], telemetry: [] });
  const { env: endpoint, received } = await collector(t);
  const all = await noting(exported, (env) => runLoop(exported, { ...env, ...endpoint }));
  assert.deepEqual(all, { programs: ['main.cjs'], telemetry: Object.keys(MARKS) });
  assert.ok(received.length > 0);
});

test('no hook loads anything of telemetry, with an endpoint or without one', async (t) => {
  for (const endpoint of [{}, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }]) {
    const p = noted(t);
    p.ralph(['init']);
    const { programs, telemetry } = await noting(p, (env) => callHooks(p, { ...env, ...endpoint }));
    assert.deepEqual(programs, ['main.cjs', ...HOOK_FILES]);
    assert.deepEqual(telemetry, []);
  }
});
