import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { RalphError } from '../../text/message.ts';
import { shellWord } from '../../text/quote.ts';
import { fieldsOf, listOf, parseFields, textOf } from '../fields.ts';
import type { HookPlace } from '../host.ts';

/**
 * Timeout in seconds. When it is exceeded, Codex runs the tool without an answer, so it is far beyond what the guard takes on a
 * busy machine.
 */
const TIMEOUT_SECONDS = 600;

const HOOKS = { PreToolUse: 'pre-tool-use.cjs', PostToolUse: 'post-tool-use.cjs' } as const;

/** Returns Codex's options that register the hooks of a loop's agent for one run. */
export function hookOptions({ node, hookPath }: Pick<HookPlace, 'node' | 'hookPath'>): string[] {
  return Object.entries(HOOKS).flatMap(([event, file]) => {
    const call = `${shellWord(node)} --v8-pool-size=0 ${shellWord(hookPath(file))} --host codex`;
    const command = event === 'PreToolUse' ? refusing(call) : call;
    const handler = `{type="command",command=${toml(command)},timeout=${TIMEOUT_SECONDS},additionalContextLimit=0}`;
    return ['-c', `hooks.${event}=[{matcher="*",hooks=[${handler}]}]`];
  });
}

/** Returns a command that denies the call however the guard ends: for Codex, every exit code but 0 and 2 allows it. */
function refusing(call: string): string {
  const lost = 'ralph-loop: the guard ended without an answer, so this call is denied.';
  return `${call} || { [ $? = 2 ] && exit 2; echo ${shellWord(lost)} >&2; exit 2; }`;
}

/** Returns a TOML string, whose escapes are those of JSON. */
export function toml(text: string): string {
  return JSON.stringify(text).replaceAll('\x7f', '\\u007f');
}

const START_MS = 60_000;

/**
 * Returns Codex's options that register our hooks for one run and make it trust exactly these: it skips any other hook of its
 * command line without a word. The hash of each comes from Codex itself. Throws RalphError `refused` if Codex would not run one.
 */
export async function trustedHooks(program: () => string, place: HookPlace): Promise<string[]> {
  const options = hookOptions(place);
  const listed = await listHooks(program(), options, place);
  const ours = listed.filter(({ source }) => source === 'sessionFlags');
  const isEnabled = ours.length === Object.keys(HOOKS).length && ours.every(({ enabled }) => enabled === true);
  if (!isEnabled) throw new RalphError('refused', NOT_RUN);
  const state = ours.map(({ key, currentHash }) => `${toml(textOf(key))}={trusted_hash=${toml(textOf(currentHash))}}`);
  return [...options, '-c', `hooks.state={${state.join(',')}}`];
}

const NOT_RUN =
  "Codex would not run ralph-loop's hooks, so the guard could not hold. Allow hooks: remove features.hooks = false and managed rules about hooks from its configuration.";

/** Asks Codex's app server for the hooks that a run with these options would have. Throws RalphError `refused`. */
async function listHooks(program: string, options: readonly string[], { cwd, env }: Pick<HookPlace, 'cwd' | 'env'>) {
  const child = spawn(program, ['app-server', '-c', 'features.plugins=false', ...options], {
    cwd,
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const answers = createInterface({ input: child.stdout });
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS);
  try {
    return await new Promise<ReturnType<typeof listOf>>((resolve, reject) => {
      const refuse = (why: string): void => reject(new RalphError('refused', `Codex did not list its hooks: ${why}.`));
      child.once('error', ({ message }) => refuse(message));
      child.once('close', (code, signal) => refuse(`it ended with ${signal ?? `exit code ${code}`}`));
      child.stdin.on('error', () => undefined);
      answers.on('line', (line) => {
        const message = parseFields(line);
        if (message?.['id'] !== LIST) return;
        const [place] = listOf(fieldsOf(message['result'])['data']);
        if (place === undefined) refuse(textOf(fieldsOf(message['error'])['message']) || 'its answer is empty');
        else resolve(listOf(place['hooks']));
      });
      for (const request of requests(cwd)) child.stdin.write(`${JSON.stringify(request)}\n`);
    });
  } finally {
    clearTimeout(timer);
    child.removeAllListeners();
    child.kill('SIGKILL');
  }
}

const LIST = 2;

function requests(cwd: string): readonly object[] {
  const clientInfo = { name: 'ralph-loop', title: 'ralph-loop', version: '1' };
  return [
    { id: 1, method: 'initialize', params: { clientInfo, capabilities: { experimentalApi: true } } },
    { method: 'initialized' },
    { id: LIST, method: 'hooks/list', params: { cwds: [cwd] } },
  ];
}
