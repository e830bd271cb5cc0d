import { loadavg } from 'node:os';
import { startClient } from '../support/client/client.ts';
import { inLoopProject } from '../support/client/loop-project.ts';
import { startRunner } from '../support/client/runner.ts';
import { text } from '../support/model/scripted-model.ts';

/**
 * What `ralph-loop run` adds before the first request of its client: the time from the start of the process to the first
 * request that the model gets, beside `claude -p` with the same prompt, taking turns. With --check it exits 1 over the limit.
 *   node --import tsx tests/bench/first-request.ts [--rounds 10] [--check]
 */
const LIMIT = 1.5;
const PROMPT = 'Make the failing tests pass.';
const at = process.argv.indexOf('--rounds');
const rounds = at === -1 ? 10 : Number(process.argv[at + 1]);

process.exitCode = await measure();

async function measure(): Promise<number> {
  const times = { run: [] as number[], bare: [] as number[] };
  for (let round = -1; round < rounds; round++) {
    for (const kind of ['run', 'bare'] as const) {
      const taken = await firstRequest(kind);
      if (round >= 0) times[kind].push(taken);
    }
  }
  const [run, bare] = [median(times.run), median(times.bare)];
  const ratio = run / bare;
  console.log(`${rounds} rounds on node ${process.version}, load ${loadavg()[0]?.toFixed(2)}`);
  const least = { run: Math.min(...times.run), bare: Math.min(...times.bare) };
  console.log(`run ${run.toFixed(0)} ms, claude -p ${bare.toFixed(0)} ms: ${ratio.toFixed(2)} (limit ${LIMIT})`);
  console.log(`minima ${least.run.toFixed(0)} and ${least.bare.toFixed(0)} ms: ${(least.run / least.bare).toFixed(2)}`);
  return ratio > LIMIT && process.argv.includes('--check') ? 1 : 0;
}

/** Milliseconds from the start of the program to the first request of the agent. */
async function firstRequest(kind: 'run' | 'bare'): Promise<number> {
  let requested = 0;
  const script = {
    main: () => {
      requested ||= performance.now();
      return text('Done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');
    },
  };
  let began = 0;
  const body = `${PROMPT}\n`;
  await inLoopProject(
    { init: false, git: true, frontmatter: 'validation: ["true"]', body },
    script,
    async (project) => {
      began = performance.now();
      if (kind === 'run') await startRunner(project).done;
      else await startClient({ workspace: project.workspace, model: project.model, prompt: PROMPT }).done;
    },
  );
  if (requested === 0) throw new Error(`${kind} made no request`);
  return requested - began;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
