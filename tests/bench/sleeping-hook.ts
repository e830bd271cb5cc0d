import { readdirSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { inLoopProject } from '../support/client/loop-project.ts';
import { descendants } from '../support/client/process-tree.ts';
import { text } from '../support/model/scripted-model.ts';
import { until } from '../support/until.ts';

/**
 * What a loop costs while it waits: memory and processor time of the Stop hook that sleeps inside the real client,
 * after enough iterations to fill the part of the transcript that it reads. With --check it exits 1 over a budget.
 *   node --import tsx tests/bench/sleeping-hook.ts [--seconds 30] [--iterations 20] [--check]
 */
const seconds = numberOf('--seconds', 30);
const iterations = numberOf('--iterations', 20);
const RSS_LIMIT_MB = 60;
const CPU_LIMIT_PERCENT = 0.2;

process.exitCode = await main();

async function main(): Promise<number> {
  let turn = 0;
  const prose = 'So it goes. '.repeat(6_000);
  const script = {
    main: () => text(++turn > iterations ? '<!-- ralph:state idle -->' : `Turn ${turn} is done. ${prose}`),
  };
  const frontmatter = 'idle: {delay: 30m, max_delay: 1h, max: 6h}\nmax_iterations: 100';
  let over = 0;
  await inLoopProject({ frontmatter }, script, async (project) => {
    const loop = project.start({ timeLimitMs: (seconds + 240) * 1000 });
    await until('an idle wait', () => project.state()?.['status'] === 'waiting', 200_000);
    const hook = await until('the sleeping hook', () => descendants(loop.pid).find(isStopHook));
    await sleep(2_000); // what it does to fall asleep is not its sleep
    const [began, used] = [performance.now(), processorNanoseconds(hook)];
    await sleep(seconds * 1000);
    const percent = (processorNanoseconds(hook) - used) / 1e4 / (performance.now() - began);
    const megabytes = residentKilobytes(hook) / 1024;
    const [transcript = ''] = project.workspace.transcripts();
    console.log(`slept ${seconds} s after ${iterations} iterations, transcript ${megabytesOf(transcript)} MB`);
    over += report('resident memory', megabytes, RSS_LIMIT_MB, 'MB');
    over += report('processor time, of one core', percent, CPU_LIMIT_PERCENT, '%');
    project.main(['cancel']);
    await loop.done;
  });
  return process.argv.includes('--check') && over > 0 ? 1 : 0;
}

function report(name: string, value: number, limit: number, unit: string): number {
  const within = value <= limit;
  console.log(`${name}: ${value.toFixed(3)} ${unit} (budget ${limit} ${unit}${within ? '' : ', EXCEEDED'})`);
  return within ? 0 : 1;
}

function isStopHook(pid: number): boolean {
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  return words.some((word) => word.endsWith('ralph-stop-hook.cjs')); // the client has it in its settings as well
}

function residentKilobytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** All threads; to the nanosecond, where /proc/PID/stat counts in hundredths of a second. */
function processorNanoseconds(pid: number): number {
  return readdirSync(`/proc/${pid}/task`)
    .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]))
    .reduce((sum, one) => sum + one, 0);
}

function megabytesOf(path: string): string {
  return (statSync(path).size / 1024 / 1024).toFixed(1);
}

function numberOf(name: string, otherwise: number): number {
  const at = process.argv.indexOf(name);
  return at === -1 ? otherwise : Number(process.argv[at + 1]);
}
