import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jsonOrNull } from '../../text/json.ts';
import { advise } from '../../text/message.ts';
import { HOOKS_HOME } from '../files/planned-files.ts';
import { BUNDLE_HOME } from '../places.ts';
import { fullRegistration, hookPath, inProject } from '../settings/registration.ts';
import { hooksIn, isOurHook, type RegisteredHook } from '../settings/stop-hooks.ts';
import { type Check, error, type Outcome, ok } from './finding.ts';

const TIME_LIMIT_MS = 30_000;
const STOP = 'ralph-stop-hook.cjs';

/** Runs the Stop command like the client, on a sample loop: it must block, and be silent without RALPH_ACTIVE. */
export const selfTest: Check = (examined) => {
  const { sources, projectDir, platform, bundle } = examined;
  const registered = sources
    .filter(({ name }) => name === 'project')
    .flatMap(({ value, path }) => hooksIn(value, path))
    .find(({ event, entry }) => event === 'Stop' && isOurHook(entry));
  const [passed] = hooksIn({ hooks: { Stop: fullRegistration(bundle, platform).Stop } }, '');
  const entry = (registered ?? passed)?.entry;
  const missing = registered === undefined ? hookPath(bundle, STOP) : join(projectDir, inProject(STOP));
  if (entry === undefined || !existsSync(missing))
    return [failed(`there is no Stop hook to test: ${missing} is missing.`)];
  const temp = mkdtempSync(join(tmpdir(), 'ralph-doctor-'));
  try {
    prepare(temp, registered === undefined ? null : projectDir, examined.now);
    const run = (active: boolean) => fire(temp, entry, environment(examined.env, temp, active), platform);
    const silent = run(false);
    if (silent.stdout !== '' || silent.status !== 0)
      return [failed(`without RALPH_ACTIVE=1 the Stop hook should be silent, but ${told(silent)}`)];
    const blocked = run(true);
    return (jsonOrNull(blocked.stdout) as { decision?: unknown } | null)?.decision === 'block'
      ? [ok('the Stop hook sends the task back, and is silent in other sessions.')]
      : [failed(`the Stop hook should send the task back, but ${told(blocked)}`)];
  } finally {
    rmSync(temp, { recursive: true, force: true });
  }
};

type Fired = ReturnType<typeof fire>;

function prepare(temp: string, installedIn: string | null, now: string): void {
  if (installedIn !== null) {
    for (const folder of [HOOKS_HOME, join(BUNDLE_HOME, 'scripts')]) {
      const from = join(installedIn, folder);
      for (const name of existsSync(from) ? readdirSync(from).filter((each) => /^ralph-.*\.cjs$/.test(each)) : [])
        cpSync(join(from, name), join(temp, folder, name));
    }
  }
  const runtime = join(temp, '.claude', 'context', 'runtime');
  mkdirSync(runtime, { recursive: true });
  mkdirSync(join(temp, '.claude', 'ralph'), { recursive: true });
  writeFileSync(join(temp, '.claude', 'ralph', 'PROMPT.md'), '# Self-test\n\nThis task is made up.\n');
  const state = { iteration: 0, startedAt: now, lastRunAt: now, lastFindingsCount: null };
  writeFileSync(join(runtime, 'ralph-state.json'), JSON.stringify(state));
}

/** Returns the user's environment without the variables of a running loop or session. */
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

function told({ stdout, stderr, status }: Fired): string {
  const said = [stdout.trim() || 'it printed nothing', `exit code ${status}`, stderr.trim()];
  const parts = said.filter((part) => part !== '');
  return parts.map((part) => part.slice(0, 300)).join('; ');
}

function failed(message: string): Outcome {
  return error(message, advise('fix the other findings.', 'Then', 'init'));
}
