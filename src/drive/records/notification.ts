import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Effect } from '../../engine/events.ts';
import type { Notify } from '../../engine/schema/contract.ts';
import type { Proof } from '../../engine/schema/proof.ts';
import type { TerminalStatus } from '../../engine/schema/state.ts';
import { hashContract } from '../../state/hash-contract.ts';
import type { LoopFiles, StoredContract } from '../../state/loop-files.ts';
import { contractOfLoop, findContract, log, loopFiles, orLogged, readState } from '../../state/loop-files.ts';
import { redact } from '../../text/redact/redact.ts';

type Kind = Notify['on'][number];

interface Notice {
  readonly title: string;
  readonly message: string;
  readonly priority: 'default' | 'high';
  /** What the news is about: a loop, or the plan or title of a run. */
  readonly loop: string;
  readonly status: string;
  /** What a completion rests on; absent for other news. */
  readonly proof?: Proof;
  /** Tasks of a run, and those that are done; absent for a single loop. */
  readonly tasks?: { readonly done: number; readonly total: number };
}

/** Ends that the user did not request, with their kind in `notify.on`. */
const KINDS: Readonly<Record<TerminalStatus, Kind | null>> = {
  complete: 'complete',
  stopped: null,
  cancelled: null,
  'max-iterations': 'limit',
  'no-progress-exhaustion': 'blocked',
  'idle-limit': 'limit',
  'circuit-open': 'blocked',
  'budget-exhausted': 'limit',
  'rate-limited': 'limit',
  blocked: 'blocked',
  'needs-verification': 'blocked',
  'paused-for-review': 'paused',
  timeout: 'limit',
  interrupted: 'error',
  error: 'error',
};

/** Variable that makes main.cjs send a notification. It names a loop; the addresses are only in the contract. */
export const NOTIFICATION = 'RALPH_NOTIFICATION';

const SEND_TIMEOUT_MS = 15_000;

/** Marks the loops of a run over several tasks: the run reports its end, and they only what needs a person. */
export const RUN_MEMBER = 'RALPH_RUN_MEMBER';

const NEEDS_PERSON: ReadonlySet<Kind> = new Set(['paused', 'blocked', 'error']);

/** Starts a process that notifies the user of an end or a pause, if the contract requests it. Never waits, never throws. */
export function notifyUser(files: LoopFiles, at: string, effects: readonly Effect[]): void {
  orLogged(files, at, 'notify', () => {
    const found = newsIn(files, effects);
    const isLeft = found !== null && process.env[RUN_MEMBER] !== undefined && !NEEDS_PERSON.has(found.kind);
    const stored = found === null || isLeft ? null : contractOf(files);
    if (found === null || stored?.contract.notify?.on.includes(found.kind) !== true) return;
    const { projectDir, name } = stored.contract;
    const loop = name ?? basename(projectDir);
    const { status, message, kind, ...proof } = found;
    const title = `Loop ${loop}: ${status}`;
    send(files, at, stored, { title, message: redact(message), priority: priorityOf(kind), loop, status, ...proof });
  });
}

/**
 * Notifies the user of the end of a run, once for each address that the contracts of its loops name. Never waits, never throws.
 */
export function notifyOfRun(
  files: LoopFiles,
  at: string,
  loops: readonly { readonly files: LoopFiles; readonly loopId: string }[],
  { message, ...news }: Omit<Notice, 'priority' | 'proof'>,
): void {
  orLogged(files, at, 'notify', () => {
    const kind = RUN_KINDS[news.status] ?? KINDS[news.status as TerminalStatus] ?? null;
    const told = new Set<string>();
    for (const { files: own, loopId } of loops) {
      const stored = contractOf(own, loopId);
      const address = JSON.stringify(stored?.contract.notify ?? null);
      if (stored === null || kind === null || told.has(address)) continue;
      told.add(address);
      if (stored.contract.notify?.on.includes(kind) !== true) continue;
      send(files, at, stored, { ...news, message: redact(message), priority: priorityOf(kind) });
    }
  });
}

/** Ends that a run has, but no loop. */
const RUN_KINDS: Readonly<Record<string, Kind>> = { incomplete: 'blocked', paused: 'paused' };

function priorityOf(kind: Kind): Notice['priority'] {
  return kind === 'complete' ? 'default' : 'high';
}

/** Starts the process that sends a notice to the addresses of a contract, in the project of `files`. */
function send(files: LoopFiles, at: string, { contract }: StoredContract, notice: Notice): void {
  const { projectDir, name, loopId, bundleDir } = contract;
  const bundles = [bundleDir, join(projectDir, '.claude', 'skills', 'ralph-loop')].filter((dir) => dir !== null);
  const program = bundles.map((dir) => join(dir, 'scripts', 'main.cjs')).find((path) => existsSync(path));
  if (program === undefined) throw new Error('main.cjs was not found, so nothing was sent.');
  const request = JSON.stringify({ projectDir, name, loopId, notice });
  const env = { ...process.env, RALPH_ACTIVE: '0', [NOTIFICATION]: request };
  spawn(process.execPath, [program], { cwd: files.projectDir, env, detached: true, stdio: 'ignore' })
    .on('error', (error) => log(files, at, 'notify', error.message))
    .unref();
}

function newsIn({ state }: LoopFiles, effects: readonly Effect[]) {
  for (const effect of effects) {
    if (effect.type === 'archive') {
      const kind = KINDS[effect.as];
      const ended = effects.find((each) => each.type === 'record-event' && each.event.type === 'loop.ended');
      const proof = ended?.type === 'record-event' ? ended.event.proof : undefined;
      return kind && { kind, status: effect.as, message: effect.message, ...(proof !== undefined && { proof }) };
    }
    const event = effect.type === 'record-event' ? effect.event : null;
    // A command of the user or Esc is no news to them; a client that quits after Esc records its exit, too.
    const isUsers = ['operator', 'interrupted'].includes(String(event?.['reason'])) && event?.['by'] !== 'client-exit';
    if (event?.type === 'loop.paused' && !isUsers) {
      const found = readState(state);
      const paused = found.kind === 'loop' && found.state.status === 'paused' ? found.state.paused.message : '';
      return { kind: 'paused' as const, status: 'paused', message: paused || `reason: ${String(event['reason'])}` };
    }
  }
  return null;
}

function contractOf(files: LoopFiles, loopId?: string): StoredContract | null {
  const live = findContract(files);
  const stored = loopId === undefined ? live : contractOfLoop(files, loopId);
  if (stored === null || typeof stored === 'string' || !stored.contract.consented) return null;
  return hashContract(stored.contract) === stored.hash ? stored : null;
}

/** Sends the notification that the environment names, by command and address. A failure is logged once, without the address. */
export async function sendNotification(env: NodeJS.ProcessEnv, at: string): Promise<void> {
  const { [NOTIFICATION]: text = '', ...own } = env;
  const { projectDir, name, loopId, notice } = JSON.parse(text) as {
    projectDir: string;
    name: string | null;
    loopId: string;
    notice: Notice;
  };
  const files = loopFiles(projectDir, name, env);
  const notify = contractOf(files, loopId)?.contract.notify;
  const { command = null, url = null, template = 'json' } = notify ?? {};
  const sent = await Promise.allSettled([
    command === null ? null : runCommand(command, notice, process.cwd(), own),
    url === null ? null : post(url, template, notice),
  ]);
  for (const one of sent) if (one.status === 'rejected') log(files, at, 'notify', (one.reason as Error).message);
}

function runCommand([program = '', ...args]: string[], notice: Notice, cwd: string, env: NodeJS.ProcessEnv) {
  return new Promise<void>((resolve, reject) => {
    const failed = (why: string): void => reject(new Error(`notify.command: ${program} ${why}.`));
    const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'ignore', 'ignore'], timeout: SEND_TIMEOUT_MS });
    child.on('error', (error) => failed(`could not be run (${error.message})`));
    child.on('exit', (code) => (code === 0 ? resolve() : failed(`failed (${code ?? 'timeout'})`)));
    // A program that does not read its input closes the pipe.
    child.stdin.on('error', () => undefined).end(JSON.stringify(notice));
  });
}

async function post(url: string, template: Notify['template'], notice: Notice): Promise<void> {
  const { address, body } = requestOf(url, template, notice);
  const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  let problem: string;
  try {
    const answer = await fetch(address, { ...options, signal: AbortSignal.timeout(SEND_TIMEOUT_MS) });
    if (answer.ok) return;
    problem = `answered ${answer.status}`;
  } catch (error) {
    problem = `could not be reached (${(error as Error).name})`;
  }
  // The rest of the address is often a secret.
  throw new Error(`notify.url: ${new URL(url).host} ${problem}.`);
}

/** Returns the request in the receiver's format. ntfy takes JSON only at its root, with the topic in it. */
export function requestOf(
  url: string,
  template: Notify['template'],
  notice: Notice,
): { address: string; body: object } {
  const { title, message, priority } = notice;
  switch (template) {
    case 'json':
      return { address: url, body: notice };
    case 'slack':
      return { address: url, body: { text: `*${title}*\n${message}` } };
    case 'discord':
      return {
        address: url,
        body: { content: `**${title}**\n${message}`.slice(0, 2000), allowed_mentions: { parse: [] } },
      };
    case 'ntfy': {
      const [, root = url, topic = ''] = /^(.*\/)([^/?#]+)\/?(?:[?#].*)?$/.exec(url) ?? [];
      return { address: root, body: { topic, title, message, priority: priority === 'high' ? 4 : 3 } };
    }
    default:
      return template satisfies never;
  }
}
