import type { EngineInterface, Register } from 'claude-code';
import { atom, read, update } from 'claude-code';
import type { LoopView } from '../types/index';

/**
 * Shows the loop of this session in the client: a band above the prompt, a pane, two commands that ask no model, and a
 * notification at its end. It draws only; the hooks decide. RALPH_MOD=0 turns it off, and clients without mods ignore it.
 */
const view = atom({ plugin: 'ralph-loop', key: 'view' } as const, null);
const now = atom({ plugin: 'ralph-loop', key: 'now' } as const, 0);
const isPaneDrawn = atom({ plugin: 'ralph-loop', key: 'isPaneDrawn' } as const, false);

const MAIN = decodeURIComponent(
  new URL('../scripts/main.cjs', (import.meta as ImportMeta & { readonly url: string }).url).pathname,
);
const LOOK_MS = 1_000;
/** Time after which the loop is described again without any news: its process may have ended. */
const OLD_MS = 60_000;
const MOST_ROWS = 40;
const MOST_LINES = 14;
/** Lines of a check's output, the last of which say what failed. */
const MOST_OUTPUT = 8;
const MOST_ITERATIONS = 8;
const MOST_BAND_ROWS = 2;
const LABEL = 'ralph ';
const PANE = { id: 'ralph', title: 'ralph-loop' };

export const register: Register = (on) => {
  on('session.start', async ($, e, next) => {
    const started = await next(e);
    if (!e.isInteractive || (await $.env.get('RALPH_MOD')) === '0') return started;
    await $.command.register({ name: 'ralph-status', description: 'Show the loop, without calling the model' });
    await $.command.register({
      name: 'ralph-explain',
      description: 'Explain the loop, without calling the model',
    });
    if ((await $.env.get('RALPH_ACTIVE')) !== '1') return started;
    const name = (await $.env.get('RALPH_LOOP')) ?? '';
    const node = (await $.env.get('RALPH_NODE')) ?? 'node';
    const fileOf = (what: string): string =>
      `${e.cwd}/.claude/context/runtime/ralph-${what}${name === '' ? '' : `.${name}`}.json`;
    const words = name === '' ? [] : ['--loop', name];
    let last = '';
    let describedAt = 0;
    let isLive = false;
    let isBusy = false;
    let isChecking = false;
    $.clock.every(LOOK_MS, async () => {
      if (isBusy) return;
      isBusy = true;
      try {
        await update($, now, () => Date.now());
        const isDrawn = (await $.ui.panes()).some(({ id, isPlaced }) => id === PANE.id && isPlaced);
        if ((await read($, isPaneDrawn)) !== isDrawn) await update($, isPaneDrawn, () => isDrawn);
        const text = await $.fs.read(fileOf('state')).catch(() => '');
        const seen = `${text}${await $.fs.read(fileOf('cost')).catch(() => '')}`;
        // The stream tells of checks; the state stays as it is while they run.
        if (seen === last && !isChecking && Date.now() < describedAt + OLD_MS) return;
        last = seen;
        describedAt = Date.now();
        const [status, explained] = await Promise.all([
          $.process.run([node, MAIN, 'status', '--json', ...words]),
          $.process.run([node, MAIN, 'explain', ...words]),
        ]);
        const stands = JSON.parse(status.stdout) as Status;
        isChecking = stands.status === 'verifying';
        const shown = viewOf(stands, explained.stdout);
        await update($, view, () => shown);
        const wasLive = isLive;
        isLive = text !== '';
        // Once for each loop: a pane that the person closes stays closed.
        if (isLive && !wasLive) await $.ui.open(PANE);
        if (wasLive && !isLive) await $.ui.notify(shown.line, { title: 'ralph-loop' });
      } finally {
        isBusy = false;
      }
    });
    return started;
  });

  // The client draws an unasked pane from 144 columns only, one that a command opens at any width.
  on('command.run', { command: 'ralph-status' }, async ($) => {
    const shown = await read($, view);
    if (shown === null) return { text: await printed($, 'status') };
    await $.ui.open(PANE);
    return { text: shown.line };
  });
  on('command.run', { command: 'ralph-explain' }, async ($) => ({
    text: (await read($, view))?.rows.join('\n') ?? (await printed($, 'explain')),
  }));

  on('ui.render', { component: 'AbovePrompt' }, async ($, e, next) => {
    const shown = await read($, view);
    if (shown === null) return next(e);
    const { Box, Text } = $.ui.resolve(e);
    const at = await read($, now);
    const goesOn = shown.line.startsWith('paused') ? 'resumes' : 'wakes';
    const left = shown.until === null ? '' : ` · ${goesOn} in ${timeText(Math.max(0, shown.until - at))}`;
    const room = Math.max(10, e.props.bodyColumns - LABEL.length);
    const todo = shown.rows.find((row) => row.startsWith('Next: ')) ?? '';
    const more = (await read($, isPaneDrawn)) ? [] : [...wrapped(todo, room), '/ralph-status opens the pane.'];
    return (
      <Box flexDirection="column">
        {wrapped(`${shown.line}${left}`, room).map((row, index) => (
          <Box>
            <Text bold>{index === 0 ? LABEL : ' '.repeat(LABEL.length)}</Text>
            <Text>{row}</Text>
          </Box>
        ))}
        {more.map((row) => (
          <Text dimColor>{`${' '.repeat(LABEL.length)}${row}`}</Text>
        ))}
      </Box>
    );
  });

  on('ui.render', { component: 'Pane', requestId: 'ralph' }, async ($, e) => {
    const { Box, Text } = $.ui.resolve(e);
    const rows = (await read($, view))?.rows ?? [];
    return (
      <Box flexDirection="column">
        {rows.slice(0, MOST_ROWS).map((row) => (
          <Text>{row === '' ? ' ' : row}</Text>
        ))}
      </Box>
    );
  });
};

/** Returns what the program says of the project's loops, in a session that drives none. */
async function printed($: EngineInterface, command: 'status' | 'explain'): Promise<string> {
  const node = (await $.env.get('RALPH_NODE')) ?? 'node';
  const { stdout, stderr } = await $.process.run([node, MAIN, command]);
  return (stdout || stderr).trimEnd();
}

/** Breaks a text between words into rows of at most `room` characters; what the last row cannot hold ends in an ellipsis. */
function wrapped(text: string, room: number): string[] {
  const rows: string[] = [];
  let rest = text;
  while (rest.length > room && rows.length < MOST_BAND_ROWS - 1) {
    const space = rest.lastIndexOf(' ', room);
    const end = space > 0 ? space : room;
    rows.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  if (rest !== '') rows.push(rest.length > room ? `${rest.slice(0, room - 1)}…` : rest);
  return rows;
}

/** What `status --json` prints of a loop that is live, or of the one that ended last. */
interface Status {
  readonly active: boolean;
  readonly status?: string;
  readonly iteration?: number;
  readonly maxIterations?: number;
  readonly waitingUntil?: string | null;
  readonly paused?: { readonly reason: string; readonly resumesAt?: string | null } | null;
  readonly usage?: { readonly costUsd: number | null } | null;
  readonly checklist?: { readonly done: number; readonly total: number };
  readonly lastLoop?: { readonly status: string; readonly iteration: number; readonly message: string } | null;
  readonly checks?: Checks;
  readonly recent?: readonly Iteration[];
}

interface Checks {
  readonly running: string | null;
  readonly last: { readonly name: string; readonly outcome: string; readonly tail: string } | null;
}

interface Iteration {
  readonly iteration?: number;
  readonly kind?: string;
  readonly durationMs?: number;
  readonly toolCalls?: number;
  readonly decision?: string;
  readonly agent?: { readonly costUsd?: number | null };
}

const PAUSES: Readonly<Record<string, string>> = {
  operator: 'paused by you',
  interrupted: 'paused because you interrupted it',
  'rate-limited': 'paused until the rate limit resets',
  'api-error': 'paused after an error of the API',
  'contract-changed': 'paused because its task or checks changed',
};

function viewOf(status: Status, explained: string): LoopView {
  const [why = '', ...sections] = explained.trimEnd().split('\n\n');
  const next = sections.filter((part) => part.startsWith('Next: '));
  // A pane above the prompt has room for about 17 rows: what to know and what to do come first, history last.
  const rows = [
    ...[why, ...next].flatMap((part) => [...part.split('\n'), '']),
    ...checkRows(status),
    ...iterationRows(status),
    ...sections.filter((part) => !next.includes(part)).flatMap((part) => part.split('\n').slice(0, MOST_LINES)),
  ];
  const { lastLoop, checks } = status;
  if (!status.active) {
    return { line: lastLoop ? `ended: ${lastLoop.message.split('\n')[0]}` : 'no loop', until: null, rows };
  }
  const cost = status.usage?.costUsd;
  const parts = [
    status.paused ? (PAUSES[status.paused.reason] ?? `paused (${status.paused.reason})`) : (status.status ?? 'running'),
    ...(checks?.running ? [`check ${checks.running}`] : []),
    `iteration ${current(status)} of ${status.maxIterations}`,
    ...(cost ? [dollarText(cost)] : []),
    ...(status.checklist ? [`${status.checklist.done} of ${status.checklist.total} done`] : []),
  ];
  const at = status.waitingUntil ?? status.paused?.resumesAt;
  const until = at ? Date.parse(at) : null;
  return { line: parts.join(' · '), until, rows };
}

/** The iteration at work, or the last one. */
function current({ status, iteration = 0, maxIterations = 0 }: Status): number {
  return Math.min(status === 'running' ? iteration + 1 : Math.max(1, iteration), maxIterations);
}

/** How an iteration was decided; any other word is the state in which it ended the loop. */
const DECISIONS: Readonly<Record<string, string>> = {
  running: 'the loop went on',
  waiting: 'the loop waited',
  paused: 'the loop paused',
  claimed: 'the agent claimed completion',
};

function iterationRows({ recent = [] }: Status): string[] {
  const shown = recent
    .slice(-MOST_ITERATIONS)
    .reverse()
    .map(({ iteration, kind, durationMs, toolCalls = 0, decision = '', agent }) => {
      const name = kind === 'idle' ? 'A look while idle' : `Iteration ${iteration}`;
      // The client reports a session's cost late: that of an iteration's last answer, while the next one works.
      const cost = agent?.costUsd ? `, ${dollarText(agent.costUsd)} reported` : '';
      const calls = `${toolCalls} tool call${toolCalls === 1 ? '' : 's'}`;
      const became = DECISIONS[decision] ?? `the loop ended as ${decision}`;
      return `${name}: ${timeText(durationMs ?? 0)}${cost}, ${calls}; ${became}.`;
    });
  return shown.length === 0 ? [] : [...shown, ''];
}

/** `45s`, `3m 20s`, `2h 5m`. */
function timeText(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1_000);
  const minutes = Math.floor(seconds / 60);
  if (minutes === 0) return `${seconds}s`;
  return minutes < 60 ? `${minutes}m ${seconds % 60}s` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}

const CHECKED: Readonly<Record<string, string>> = { ok: 'passed', 'timed-out': 'timed out' };

function checkRows({ checks }: Status): string[] {
  if (!checks?.last) return [];
  const { name, outcome, tail } = checks.last;
  return [
    `The last check, ${name}, ${CHECKED[outcome] ?? outcome}:`,
    ...tail.trimEnd().split('\n').slice(-MOST_OUTPUT),
    '',
  ];
}

/** `$1.44`, and `$0.0016` below a cent. */
function dollarText(amount: number): string {
  return `$${amount.toFixed(amount > 0 && amount < 0.01 ? 4 : 2)}`;
}
