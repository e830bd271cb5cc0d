import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

export const NODE = process.execPath;
const SESSION = 'bench';

/** A kind of loop as users have it. */
export interface Kind {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  /** Options of `start`. */
  readonly start: readonly string[];
  /** Last line of what the agent says at the end of an iteration. */
  readonly says?: string;
}

export interface BenchLoop {
  readonly kind: Kind;
  readonly dir: string;
  readonly state: string;
  readonly hook: (event: string, payload: object, path?: string) => string;
  /** Puts the loop back to the beginning of its third iteration, with one file changed. */
  readonly reset: (round: number) => void;
  readonly env: NodeJS.ProcessEnv;
}

const FILES: Readonly<Record<string, string>> = {
  'package.json': '{ "name": "bench", "scripts": { "test": "true" } }\n',
  'src/a.ts': 'export const a = 1;\n',
  'src/b.ts': 'export const b = 2;\n',
  '.gitignore': '.claude/\n*.jsonl\n',
};

const HOOK_FILES: Readonly<Record<string, string>> = {
  SessionStart: 'ralph-session-start.cjs',
  UserPromptSubmit: 'ralph-user-prompt-submit.cjs',
  Stop: 'ralph-stop-hook.cjs',
  PreToolUse: 'ralph-pre-tool-use.cjs',
  PostToolUse: 'ralph-post-tool-use.cjs',
};

/** Made by `init` and `start`, bound by the hooks of its session, and two iterations old: the first one stores more than later ones. */
export function benchLoop(place: string, bundle: string, kind: Kind): BenchLoop {
  const dir = join(place, kind.name.replace(/\W+/g, '-'));
  const outside = join(dir, '..', 'state', kind.name.replace(/\W+/g, '-'));
  mkdirSync(outside, { recursive: true });
  const env: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    HOME: place,
    XDG_STATE_HOME: outside,
    CLAUDE_PROJECT_DIR: dir,
    CLAUDE_PID: String(process.pid),
  };
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  };
  for (const [path, text] of Object.entries(FILES)) write(path, text);
  const git = (...args: string[]): unknown => execFileSync('git', args, { cwd: dir, env });
  git('init', '-q', '-b', 'work');
  git('config', 'user.name', 'Bench');
  git('config', 'user.email', 'bench@example.invalid');
  const main = (...args: string[]): string => {
    const options = { cwd: dir, env, encoding: 'utf8' } as const;
    const { stdout, stderr, status } = spawnSync(NODE, [join(bundle, 'scripts', 'main.cjs'), ...args], options);
    if (status !== 0) throw new Error(`${kind.name}: ${args.join(' ')} left with ${status}: ${stdout}${stderr}`);
    return stdout;
  };
  main('init');
  for (const [path, text] of Object.entries(kind.files)) write(path, text);
  git('add', '-A');
  git('commit', '-q', '-m', 'Begin');
  const { loopId, name } = JSON.parse(main('start', '--json', ...kind.start)) as {
    loopId: string;
    name: string | null;
  };
  Object.assign(env, { RALPH_ACTIVE: '1', RALPH_LOOP_ID: loopId, ...(name === null ? {} : { RALPH_LOOP: name }) });
  const hook = (event: string, payload: object, path = env['PATH']): string => {
    const input = { hook_event_name: event, session_id: SESSION, prompt_id: 'p', cwd: dir, ...payload };
    return run(hookCommand(dir, event), JSON.stringify(input), { ...env, PATH: path }, dir);
  };
  transcript(dir, '1MB', 1 << 20);
  hook('SessionStart', { source: 'startup' });
  hook('UserPromptSubmit', { prompt: 'Begin.' });
  for (const part of ['first', 'second']) {
    write('src/work.ts', `export const part = '${part}';\n`);
    hook('Stop', stopPayload(dir, `The ${part} part is done.\n\n${kind.says ?? ''}`));
  }
  const kept = [outside, join(dir, '.claude', 'context'), ...ownEntries(dir)];
  const saved = join(place, 'saved', kind.name.replace(/\W+/g, '-'));
  for (const [index, path] of kept.entries())
    cpSync(path, join(saved, String(index)), { recursive: true, filter: isKept, preserveTimestamps: true });
  const reset = (round: number): void => {
    // What a Stop has added, such as the progress file of a plan, would be a change of the agent's.
    for (const path of ownEntries(dir)) if (!kept.includes(path)) rmSync(path, { recursive: true });
    for (const [index, path] of kept.entries()) putBack(join(saved, String(index)), path);
    write('src/work.ts', `export const round = '${word(round)}';\n`);
    // What was just put back is examined once; a session finds its files as it left them.
    hook('PostToolUse', { tool_name: 'Edit', tool_input: { file_path: 'src/work.ts' }, tool_use_id: 'reset' });
  };
  const state = join(
    dir,
    '.claude',
    'context',
    'runtime',
    name === null ? 'ralph-state.json' : `ralph-state.${name}.json`,
  );
  if (!existsSync(state)) throw new Error(`${kind.name}: the loop is over after its first Stop`);
  return { kind, dir, state, hook, reset, env };
}

export function hookCommand(dir: string, event: string): string[] {
  return [NODE, '--v8-pool-size=0', join(dir, '.claude', 'hooks', HOOK_FILES[event] ?? '')];
}

export function stopPayload(dir: string, text: string, size = '1MB'): object {
  return { transcript_path: join(dir, `${size}.jsonl`), last_assistant_message: text };
}

/** Sparse: bytes that a hook does not read take no disk. */
export function transcript(dir: string, name: string, bytes: number): void {
  const file = openSync(join(dir, `${name}.jsonl`), 'w');
  ftruncateSync(file, bytes);
  writeSync(file, `\n${JSON.stringify({ type: 'user', version: '2.1.330' })}\n`, bytes);
  closeSync(file);
}

export function word(round: number): string {
  return [...String(1000 + round)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
}

export function run(command: readonly string[], input: string, env: NodeJS.ProcessEnv, cwd: string): string {
  const [program = '', ...args] = command;
  const { stdout, stderr, status } = spawnSync(program, args, { input, encoding: 'utf8', cwd, env, timeout: 30_000 });
  if (status !== 0) throw new Error(`${command.join(' ')} left with ${status}: ${stderr}`);
  return stdout;
}

export interface GitCall {
  readonly cwd: string;
  readonly args: readonly string[];
}

/** The calls of git of one Stop, in groups that ran at the same time. */
export function gitCalls(loop: BenchLoop, place: string): GitCall[][] {
  const bin = join(place, 'bin');
  const log = join(place, 'git.log');
  mkdirSync(bin, { recursive: true });
  const git = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const quoted = (path: string): string => `'${path}'`;
  const line = `for each; do printf '\\037%s' "$each"; done`;
  writeFileSync(
    join(bin, 'git'),
    `#!/bin/sh\n{ printf '+%s' "$PWD"; ${line}; printf '\\036'; } >> ${quoted(log)}\n${quoted(git)} "$@"\ncode=$?\nprintf -- '-\\036' >> ${quoted(log)}\nexit $code\n`,
  );
  chmodSync(join(bin, 'git'), 0o755);
  rmSync(log, { force: true });
  loop.reset(0);
  loop.hook(
    'Stop',
    stopPayload(loop.dir, `One more part is done.\n\n${loop.kind.says ?? ''}`),
    `${bin}${delimiter}${loop.env['PATH']}`,
  );
  const groups: GitCall[][] = [];
  let running = 0;
  const entries = existsSync(log)
    ? readFileSync(log, 'utf8')
        .split('\x1e')
        .filter((entry) => entry !== '')
    : [];
  for (const entry of entries) {
    if (entry === '-') {
      running -= 1;
      continue;
    }
    const [cwd = '', ...args] = entry.slice(1).split('\x1f');
    if (running === 0) groups.push([]);
    groups.at(-1)?.push({ cwd, args });
    running += 1;
  }
  return groups;
}

function isKept(path: string): boolean {
  return !path.endsWith('code-cache') && !path.endsWith('worktrees');
}

/** Puts a file or folder back. What is as it was keeps its stamps, as a session finds its files as it left them. */
function putBack(saved: string, path: string): void {
  if (!statSync(saved).isDirectory()) {
    if (existsSync(path) && readFileSync(saved).equals(readFileSync(path))) return;
    cpSync(saved, path, { preserveTimestamps: true });
    return;
  }
  mkdirSync(path, { recursive: true });
  const names = readdirSync(saved);
  for (const name of readdirSync(path))
    if (!names.includes(name) && isKept(name)) rmSync(join(path, name), { recursive: true });
  for (const name of names) putBack(join(saved, name), join(path, name));
}

/** Entries of the project that hooks do not change. */
const UNCHANGED = ['.git', '.claude', 'tests'];

/** The project's files and folders that a Stop may change. */
function ownEntries(dir: string): string[] {
  return readdirSync(dir)
    .filter((name) => !UNCHANGED.includes(name) && !name.endsWith('.jsonl'))
    .map((name) => join(dir, name));
}
