import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Agent, HONEST, LIARS } from './liars/agents.ts';
import { contestants, PLUGIN, programVersions } from './liars/contestants.ts';
import { pageOf, type Row, TRIES } from './liars/page.ts';
import { install } from './liars/peers.ts';
import { type Contestant, LIMIT_MS, play } from './liars/play.ts';
import { isControlGood, type Seen, scoreOf } from './liars/score.ts';

/**
 * Agents that lie, fail or hang, against runners. Writes docs/bench.md; exits 1 if a control fails or this product does not hold.
 *   node --import tsx tests/bench/liars.ts [--only CONTESTANT,…] [--agents AGENT,…] [--show]
 * With --only or --agents it prints and writes nothing. RALPH_BENCH_PLUGIN names a copy of Anthropic's loop plugin.
 */
const given = (name: string): readonly string[] | null => {
  const at = process.argv.indexOf(name);
  return at === -1 ? null : (process.argv[at + 1] ?? '').split(',');
};
const [only, agents] = [given('--only'), given('--agents')];
const PAGE = join(dirname(fileURLToPath(import.meta.url)), '../../docs/bench.md');
/** They wait more than they work. */
const SLEEPERS = new Set(['hangs', 'limited', 'crashes']);

const OURS = new Set(['runner', 'session', 'codex', 'codex-session', 'gemini-session']);
const WITHOUT_PLUGIN =
  "Anthropic's loop plugin (ralph-wiggum): it is on no package registry (`@anthropic-ai/ralph-wiggum` is unknown to npm) and its licence keeps it out of this repository. With a copy of your own, `RALPH_BENCH_PLUGIN=FOLDER npm run bench:liars` plays it.";

process.exitCode = await measure();

async function measure(): Promise<number> {
  const began = Date.now();
  const missing = install();
  const playing = contestants(missing === null).filter(({ key }) => only === null || only.includes(key));
  const chosen = [HONEST, ...LIARS].filter(({ key }) => agents === null || agents.includes(key));
  const seen = new Map(playing.map(({ key }) => [key, new Map<string, Seen>()]));
  const tries = new Map<string, number>();
  const jobs = chosen.flatMap((agent) => playing.map((contestant) => ({ agent, contestant })));
  const lane = (sleeps: boolean): typeof jobs => jobs.filter(({ agent }) => SLEEPERS.has(agent.key) === sleeps);
  const one = async ({ agent, contestant }: (typeof jobs)[number]): Promise<void> => {
    let result = await tell(contestant, agent);
    for (let at = 2; agent === HONEST && !isControlGood(result) && at <= TRIES; at++) {
      tries.set(contestant.key, at);
      result = await tell(contestant, agent);
    }
    seen.get(contestant.key)?.set(agent.key, result);
  };
  await Promise.all([inTurn(lane(true), 6, one), inTurn(lane(false), Math.max(2, availableParallelism()), one)]);
  const rows: Row[] = playing.map((contestant) => ({
    ...contestant,
    seen: seen.get(contestant.key) ?? new Map(),
    tries: tries.get(contestant.key) ?? 1,
  }));
  const minutes = Math.ceil((Date.now() - began) / 6000) / 10;
  console.log(`${minutes} minutes`);
  if (only === null && agents === null) {
    const absent = [
      ...(PLUGIN === null ? [WITHOUT_PLUGIN] : []),
      ...(missing === null ? [] : [`ralphy-cli, ralph-tui: npm could not install them: ${missing}`]),
    ];
    const facts = {
      date: new Date().toISOString().slice(0, 10),
      versions: programVersions(),
      minutes,
      limitSeconds: LIMIT_MS / 1000,
      absent,
    };
    writeFileSync(PAGE, pageOf(HONEST, LIARS, rows, facts));
  }
  const bad = rows.flatMap(({ key, name, seen: all }) => {
    const control = all.get(HONEST.key);
    const isOurs = OURS.has(key);
    return [
      ...(control !== undefined && !isControlGood(control) ? [`${name}: its control failed`] : []),
      ...[...all].flatMap(([agent, result]) => (isOurs && !scoreOf(result).passes ? [`${name}: ${agent}`] : [])),
    ];
  });
  for (const line of bad) console.error(line);
  return bad.length === 0 ? 0 : 1;
}

async function tell(contestant: Contestant, agent: Agent): Promise<Seen> {
  const began = Date.now();
  const result = await play(contestant, agent);
  const { code, said, done, calls, turns } = result;
  const seconds = Math.round((Date.now() - began) / 1000);
  const holds = scoreOf(result).passes ? 'holds' : 'FAILS';
  console.log(
    `${contestant.key} ${agent.key}: ${holds}, exit ${code}, said ${said}, done ${done}, ${calls} calls, ${turns} turns, ${seconds} s`,
  );
  if (process.argv.includes('--show')) console.log(result.output.slice(-4000));
  return result;
}

/** Plays all jobs, at most `width` at once. */
async function inTurn<T>(jobs: readonly T[], width: number, one: (job: T) => Promise<void>): Promise<void> {
  const left = [...jobs];
  const work = async (): Promise<void> => {
    for (let job = left.shift(); job !== undefined; job = left.shift()) await one(job);
  };
  await Promise.all(Array.from({ length: width }, work));
}
