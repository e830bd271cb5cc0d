import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Environment } from '../client/client-environment.ts';
import { childrenOf, signalQuietly, stopTree } from '../client/process-tree.ts';
import { pathOfProgram } from '../programs.ts';
import { TEST_TIMEOUT_MS } from '../until.ts';

const run = promisify(execFile);
/** Each look at the screen is a process. */
const POLL_MS = 200;
let serial = 0;

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/**
 * The shell around the command. tmux 3.3a now and then loses the exit status of a pane, so the shell notes it; its traps, which the command does
 * not inherit, keep it alive when Ctrl+C goes to the whole foreground group. A file, because tmux takes no command line over 16 KB.
 * Before it says that the command has ended it asks the terminal where its cursor is: tmux answers when it has read all that was printed.
 */
const launcherOf = (options: TerminalOptions, exitFile: string): string => {
  const assignments = Object.entries({ ...options.env, TERM: 'screen-256color' }).map(
    ([name, value]) => `${name}=${value}`,
  );
  const words = ['/usr/bin/env', '-i', ...assignments, options.command, ...(options.args ?? [])];
  return [
    'trap : INT QUIT',
    words.map(quoted).join(' '),
    'code=$?',
    // Whoever had the terminal last may have left it in the hands of a group that is gone.
    `trap '' TTIN TTOU`,
    'stty -echo -icanon 2> /dev/null',
    `/bin/bash -c 'printf "\\033[6n"; IFS= read -r -d R _'`,
    `echo $code > ${quoted(exitFile)}`,
    // tmux would write "Pane is dead" into the last screen.
    'exec tail -f /dev/null',
    '',
  ].join('\n');
};

export type TerminalOptions = {
  readonly command: string;
  readonly args?: readonly string[];
  /** The whole environment (see clientEnvironment): nothing of ours or of tmux's is inherited. */
  readonly env: Environment;
  readonly cwd: string;
  readonly columns?: number;
  readonly rows?: number;
};

export type Terminal = {
  /** The visible screen, trailing blanks of lines removed. */
  readonly screen: () => Promise<string>;
  /** Screen and scroll-back. */
  readonly history: () => Promise<string>;
  /** Screen and scroll-back with the SGR sequences of their colours. */
  readonly painted: () => Promise<string>;
  /** Types characters; no Enter. */
  readonly send: (text: string) => Promise<void>;
  /** tmux names: "Enter", "Escape", "C-c", "Up", "BTab" ... */
  readonly key: (...names: string[]) => Promise<void>;
  /** Types a line and presses Enter once it is on the screen (an Enter in the same burst counts as pasted). */
  readonly submit: (text: string) => Promise<void>;
  /** Resolves with a screen that shows all of them; rejects with the last screen in the message. */
  readonly waitFor: (...wanted: readonly Wanted[]) => Promise<string>;
  readonly resize: (columns: number, rows: number) => Promise<void>;
  /** Exit code of the command, or undefined while it runs. */
  readonly exitCode: () => Promise<number | undefined>;
  /** Whatever it has printed can be read then. */
  readonly waitForExit: () => Promise<number>;
  /** Process id of the command. */
  readonly pid: () => Promise<number>;
  readonly close: () => Promise<void>;
};

export type Wanted = RegExp | string | ((screen: string) => boolean);

const matches = (wanted: Wanted, screen: string): boolean =>
  typeof wanted === 'function'
    ? wanted(screen)
    : typeof wanted === 'string'
      ? screen.includes(wanted)
      : wanted.test(screen);

/** What follows sooner than this upon typed text is a part of a paste for the client, by its own clock. */
const CLIENT_PASTE_MS = 200;

/**
 * How often the end of a text stands on the screen, wherever its lines are broken: at all, and as the last of a line, as what is being typed.
 * Something like it elsewhere can go while it comes, so that one of the two counts may stay what it was.
 */
const times = (screen: string, text: string): readonly number[] => {
  const end = [...text.replace(/\s+/g, '')].slice(-20).map((char) => char.replace(/[^\w]/u, '\\$&'));
  const words = end.join('\\s*');
  return [words, `${words}[ \\t]*$`].map((pattern) => screen.match(new RegExp(pattern, 'gm'))?.length ?? 0);
};

/** Runs a command in a tmux server of its own; the pane outlives the command, so that its last screen can be read. */
export const startTerminal = async (options: TerminalOptions): Promise<Terminal> => {
  const socket = `ralph-test-${process.pid}-${++serial}-${Math.random().toString(36).slice(2, 8)}`;
  const scratch = mkdtempSync(join(tmpdir(), 'ralph-tmux-'));
  const config = join(scratch, 'tmux.conf');
  const exitFile = join(scratch, 'exit-code');
  writeFileSync(
    config,
    'set -g remain-on-exit on\nset -g history-limit 20000\nset -s escape-time 0\nset -g status off\n',
  );
  const launcher = join(scratch, 'launch.sh');
  writeFileSync(launcher, launcherOf(options, exitFile));
  const tmux = async (...args: string[]): Promise<string> =>
    (await run(pathOfProgram('tmux'), ['-L', socket, '-f', config, ...args])).stdout;
  const size = ['-x', String(options.columns ?? 120), '-y', String(options.rows ?? 40)];
  await tmux('new-session', '-d', '-s', 'main', ...size, '-c', options.cwd, '/bin/sh', launcher);

  const panePid = async (): Promise<number> =>
    Number((await tmux('display-message', '-p', '-t', 'main', '#{pane_pid}')).trim());
  const capture = async (...more: string[]): Promise<string> =>
    (await tmux('capture-pane', '-p', '-t', 'main', ...more)).replace(/[ \t]+$/gm, '');
  const screen = (): Promise<string> => capture();
  const history = (): Promise<string> => capture('-S', '-');
  const painted = (): Promise<string> => capture('-e', '-S', '-');
  const send = async (text: string): Promise<void> => {
    // tmux takes a last ";" for the end of a command unless it is escaped.
    for (const part of text.match(/[\s\S]{1,1000}/gu) ?? [])
      await tmux('send-keys', '-t', 'main', '-l', '--', part.replace(/;$/, '\\;'));
  };
  const key = async (...names: string[]): Promise<void> => void (await tmux('send-keys', '-t', 'main', ...names));

  const exitCode = async (): Promise<number | undefined> => {
    const written = existsSync(exitFile) ? readFileSync(exitFile, 'utf8') : '';
    return written.endsWith('\n') ? Number(written) : undefined;
  };

  const poll = async <Found>(
    attempt: () => Promise<Found | undefined>,
    failure: () => Promise<string>,
  ): Promise<Found> => {
    const end = Date.now() + TEST_TIMEOUT_MS;
    for (;;) {
      const found = await attempt();
      if (found !== undefined) return found;
      if (Date.now() > end) throw new Error(await failure());
      await sleep(POLL_MS);
    }
  };

  return {
    screen,
    history,
    painted,
    send,
    key,
    resize: async (columns, rows) =>
      void (await tmux('resize-window', '-t', 'main', '-x', String(columns), '-y', String(rows))),
    submit: async (text) => {
      const before = times(await screen(), text);
      await send(text);
      await poll(
        async () => times(await screen(), text).some((count, index) => count > (before[index] ?? 0)) || undefined,
        async () => `${text} was typed and is not on the screen:\n${await screen()}`,
      );
      await sleep(CLIENT_PASTE_MS);
      await key('Enter');
    },
    waitFor: (...wanted) =>
      poll(
        async () => {
          const shown = await screen();
          return wanted.every((each) => matches(each, shown)) ? shown : undefined;
        },
        async () =>
          `after ${TEST_TIMEOUT_MS} ms the screen still did not show ${wanted.join(' and ')}:\n${await screen()}`,
      ),
    exitCode,
    waitForExit: () =>
      poll(exitCode, async () => `the command still ran after ${TEST_TIMEOUT_MS} ms:\n${await screen()}`),
    pid: async () => {
      const shell = await panePid();
      const command = childrenOf(shell)[0];
      if (command === undefined) throw new Error('the command has ended');
      return command;
    },
    close: async () => {
      // The client starts hooks and shells in sessions of their own, which a closed terminal does not end.
      const left = await panePid()
        .then(stopTree)
        .catch(() => []);
      for (const pid of left) signalQuietly(pid, 'SIGKILL');
      try {
        execFileSync('tmux', ['-L', socket, 'kill-server'], { stdio: 'ignore' });
      } catch {
        // The server had ended already.
      }
      rmSync(scratch, { recursive: true, force: true });
    },
  };
};
