import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readLines } from '../../../src/state/files/journal-lines.ts';
import { type LoopFiles, loopFiles, readState } from '../../../src/state/loop-files.ts';
import { iterationsIn } from '../../support/journal.ts';
import { TEST_TIMEOUT_MS } from '../../support/until.ts';

const agent = fileURLToPath(new URL('fake-agent.sh', import.meta.url));

/** A project whose agent is fake-agent.sh, with a loop that a runner works on. */
export interface RunnerProject {
  readonly files: LoopFiles;
  readonly journal: string;
  /** Once it is there, the agent claims completion. */
  readonly finish: string;
  readonly env: NodeJS.ProcessEnv;
  readonly main: string;
}

/** `frontmatter` without the dashes; `agentEnv` is for fake-agent.sh. The agent's environment has RALPH_STRESS, by which all that it starts is found. */
export function runnerProject(
  root: string,
  main: string,
  frontmatter = '',
  agentEnv: NodeJS.ProcessEnv = {},
): RunnerProject {
  const project = join(root, 'project');
  const task = join(project, '.claude', 'ralph', 'PROMPT.md');
  mkdirSync(dirname(task), { recursive: true });
  const settings = ['max_iterations: 100', 'breaker: {same_reply: 0}', frontmatter].join('\n');
  writeFileSync(task, `---\n${settings}\n---\n\nDo the work.\n`);
  const [journal, finish] = [join(root, 'agents.txt'), join(root, 'finish')];
  writeFileSync(journal, '');
  const env = {
    ...{ PATH: process.env['PATH'], HOME: root, XDG_STATE_HOME: join(root, 'outside') },
    ...{ RALPH_CLAUDE: agent, RALPH_STRESS: root, FAKE_JOURNAL: journal, FAKE_FINISH: finish },
    RALPH_RETRY_WAIT: '50ms',
    ...agentEnv,
  };
  return { files: loopFiles(project, null, env), journal, finish, env, main };
}

export interface StartedRunner {
  readonly pid: number;
  readonly child: ChildProcess;
  readonly over: Promise<{ readonly code: number | null; readonly said: string }>;
  readonly said: () => string;
}

export function startRunner({ files, env, main }: RunnerProject, args: readonly string[] = []): StartedRunner {
  const words = [main, 'run', '--json', '--permission-mode', 'bypassPermissions', ...args];
  const child = spawn(process.execPath, words, { cwd: files.projectDir, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  const over = once(child, 'exit').then(([code]) => ({ code: code as number | null, said }));
  return { pid: child.pid ?? 0, child, over, said: () => said };
}

/** One line of the agents' own journal. */
export interface AgentNote {
  readonly what: 'start' | 'end' | 'killed' | 'beside';
  /** The iteration that the prompt named. */
  readonly iteration: number;
  readonly pid: number;
}

export function agentNotes(journal: string): AgentNote[] {
  return readFileSync(journal, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [what, iteration, pid] = line.split(' ');
      return { what: what as AgentNote['what'], iteration: Number(iteration), pid: Number(pid) };
    });
}

/** Processes, the runner among them, that work for this project: they have its mark in their environment. Linux only. */
export function workers({ env }: RunnerProject): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`RALPH_STRESS=${env['RALPH_STRESS']}`)) return [];
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        const [state, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        if (state === 'Z' || state === 'X') return [];
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return [`${pid} (parent ${parent}, group ${group}) ${line.slice(0, 120)}`];
      } catch {
        return []; // gone, or another user's
      }
    });
}

/** Resolves once nobody works for this project any more; rejects with who still does where that never comes. */
export async function allGone(project: RunnerProject): Promise<void> {
  for (const end = Date.now() + TEST_TIMEOUT_MS; ; ) {
    const left = workers(project);
    if (left.length === 0) return;
    if (Date.now() > end) throw new Error(`${left.length} processes are left: ${left.join('; ')}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What the loop says of itself. */
export interface Counted {
  readonly iteration: number;
  readonly costUsd: number | null;
  readonly inputTokens: number;
}

/** The live loop's counters, or those of the one that ended here. */
export function counted({ files }: RunnerProject): Counted {
  const live = readState(files.state);
  if (live.kind === 'loop') return { iteration: live.state.iteration, ...live.state.usage };
  assert.equal(live.kind, 'absent', `the state is ${live.kind}`);
  if (!existsSync(files.archiveDir)) return { iteration: 0, costUsd: null, inputTokens: 0 };
  const [only, ...more] = readdirSync(files.archiveDir);
  assert.ok(only !== undefined && more.length === 0, `the archive holds ${[only, ...more].join(', ')}`);
  const archived = readState(join(files.archiveDir, only));
  assert.ok(archived.kind === 'loop', 'the archive holds the loop');
  return { iteration: archived.state.iteration, ...archived.state.usage };
}

/**
 * What is wrong with a loop whose runners were killed, one after the other, by what the agents themselves have noted.
 * `generations` has, for each runner, how many notes there were when it was gone and what the loop had counted by then.
 * An agent that ended its turn is counted once, under the number that it was told. Only the last one of a runner that
 * was killed may not be counted: then the next runner's first agent was told that number again.
 */
export function misCounted(
  notes: readonly AgentNote[],
  generations: readonly { readonly notes: number; readonly iteration: number }[],
): string[] {
  const wrong: string[] = notes.filter(({ what }) => what === 'beside').map(({ pid }) => `${pid} was not alone`);
  let before = { notes: 0, iteration: 0 };
  generations.forEach((after, index) => {
    const told = notes.slice(before.notes, after.notes).filter(({ what }) => what === 'end');
    told.forEach(({ iteration }, nth) => {
      if (iteration !== before.iteration + 1 + nth) {
        wrong.push(`runner ${index}: agent ${nth} was told ${iteration} after ${before.iteration} were counted`);
      }
    });
    const more = after.iteration - before.iteration;
    if (more > told.length) wrong.push(`runner ${index}: ${more} counted, of ${told.length} that ended`);
    if (more < told.length - 1) wrong.push(`runner ${index}: ${told.length} ended, ${more} counted`);
    before = after;
  });
  return wrong;
}

/** What the journal lacks or has twice: it holds each iteration once, in their order. */
export function misRecorded({ files }: RunnerProject, iteration: number): string[] {
  const numbers = iterationsIn(files).map((entry) => Number(entry['iteration']));
  const wanted = Array.from({ length: iteration }, (_, index) => index + 1);
  return numbers.join() === wanted.join() ? [] : [`the journal has ${numbers.join()}, not 1 to ${iteration}`];
}

/**
 * What the loop's usage lacks or has twice: each agent cost 0.25 and read 100 tokens. Those that a runner has recorded
 * are counted; the last one of a runner that was killed may be counted without a record, or not have been heard.
 */
export function misAccounted({ files, journal }: RunnerProject, { costUsd, inputTokens }: Counted): string[] {
  const seen = readLines(files.events).entries.filter(({ type }) => type === 'agent.ended');
  const ended = seen.filter((event) => event['costUsd'] === 0.25).length;
  const noted = agentNotes(journal).filter(({ what }) => what === 'end').length;
  const runs = inputTokens / 100;
  const right = (costUsd ?? 0) === runs * 0.25 && runs >= ended && runs <= noted;
  const seenText = `${ended} agents were seen to end, ${noted} did`;
  return right ? [] : [`${seenText}; the loop has ${costUsd} dollars and ${inputTokens} tokens`];
}
