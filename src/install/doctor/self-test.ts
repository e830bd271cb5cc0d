import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HOOKS_HOME } from '../files/planned-files.ts';
import { SETTINGS_PATH } from '../init-project.ts';
import { hooksIn, isOurHook, type RegisteredHook } from '../settings/our-hooks.ts';
import { type Check, error, type Outcome, ok } from './finding.ts';

const TIME_LIMIT_MS = 30_000;

/**
 * Proves that the installed hook fires: runs the registered Stop command, as the client would, on copies of the
 * installed hooks in a temporary project with a made-up loop. It must block; without RALPH_ACTIVE it must be silent.
 */
export const selfTest: Check = (examined) => {
  const { sources, projectDir, platform } = examined;
  const registered = sources
    .filter(({ name }) => name === 'project')
    .flatMap(({ value, path }) => hooksIn(value, path))
    .find(({ event, entry }) => event === 'Stop' && isOurHook(entry));
  const hooks = join(projectDir, HOOKS_HOME);
  if (registered === undefined || !existsSync(join(hooks, 'ralph-stop-hook.cjs'))) {
    return [failed(`there is no Stop hook of ours to try: not registered in ${SETTINGS_PATH}, or not installed.`)];
  }
  const temp = mkdtempSync(join(tmpdir(), 'ralph-doctor-'));
  try {
    prepare(temp, hooks, examined.now);
    const run = (active: boolean) => fire(temp, registered.entry, environment(examined.env, temp, active), platform);
    const silent = run(false);
    if (silent.stdout !== '' || silent.status !== 0) {
      return [failed(`without RALPH_ACTIVE=1 the Stop hook should be silent, but ${told(silent)}`)];
    }
    const blocked = run(true);
    return blocks(blocked.stdout)
      ? [ok('the installed Stop hook sends the task back, and is silent in other sessions.')]
      : [failed(`the installed Stop hook should send the task back, but ${told(blocked)}`)];
  } finally {
    rmSync(temp, { recursive: true, force: true });
  }
};

type Fired = ReturnType<typeof fire>;
function prepare(temp: string, hooks: string, now: string): void {
  const copies = join(temp, HOOKS_HOME);
  mkdirSync(copies, { recursive: true });
  for (const name of readdirSync(hooks).filter((each) => /^ralph-.*\.cjs$/.test(each))) {
    cpSync(join(hooks, name), join(copies, name));
  }
  const runtime = join(temp, '.claude', 'context', 'runtime');
  mkdirSync(runtime, { recursive: true });
  mkdirSync(join(temp, '.claude', 'ralph'));
  writeFileSync(join(temp, '.claude', 'ralph', 'PROMPT.md'), '# Self-test\n\nThis task is made up.\n');
  const state = { iteration: 0, startedAt: now, lastRunAt: now, lastFindingsCount: null };
  writeFileSync(join(runtime, 'ralph-state.json'), JSON.stringify(state));
}

/** Returns the user's environment without what belongs to a running loop or session. */
function environment(env: NodeJS.ProcessEnv, temp: string, active: boolean): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => name === 'RALPH_NODE' || !/^(RALPH_|CLAUDE)/.test(name));
  return {
    ...Object.fromEntries(kept),
    CLAUDE_PROJECT_DIR: temp,
    XDG_STATE_HOME: join(temp, 'state'),
    ...(active ? { RALPH_ACTIVE: '1' } : {}),
  };
}

function fire(temp: string, entry: RegisteredHook['entry'], env: NodeJS.ProcessEnv, platform: NodeJS.Platform) {
  const input = JSON.stringify({
    session_id: 'ralph-doctor',
    transcript_path: join(temp, 'transcript.jsonl'),
    cwd: temp,
    hook_event_name: 'Stop',
    stop_hook_active: false,
    last_assistant_message: 'This message is made up.',
    background_tasks: [],
  });
  const options = { cwd: temp, env, input, encoding: 'utf8' as const, timeout: TIME_LIMIT_MS };
  const { command, args } = entry as { command: string; args?: readonly string[] };
  const words = args?.map((word) => word.replaceAll(`\${CLAUDE_PROJECT_DIR}`, temp));
  const shell = platform === 'win32' ? 'sh' : '/bin/sh';
  const ran = words ? spawnSync(command, words, options) : spawnSync(shell, ['-c', command], options);
  return { stdout: ran.stdout ?? '', stderr: ran.stderr || (ran.error?.message ?? ''), status: ran.status };
}

function blocks(stdout: string): boolean {
  try {
    return (JSON.parse(stdout) as { decision?: unknown }).decision === 'block';
  } catch {
    return false;
  }
}

function told({ stdout, stderr, status }: Fired): string {
  const said = [stdout.trim() || 'it printed nothing', `exit code ${status}`, stderr.trim()];
  const parts = said.filter((part) => part !== '');
  return parts.map((part) => part.slice(0, 300)).join('; ');
}

function failed(message: string): Outcome {
  return error(message, 'fix what the other findings name, then ralph-loop init.');
}
