import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FleetKey } from '../../src/fleet/job.ts';
import { FleetServer, loadPackages } from '../../src/fleet/queue/connect.ts';
import { addLoop } from '../../src/fleet/queue/loop-index.ts';
import { fleet } from '../support/fleet/fleet.ts';
import { aSubmission } from '../support/fleet/submission.ts';
import { shownRows } from '../support/terminal/shown-rows.ts';
import { assertWholeWords } from '../support/terminal/whole-words.ts';
import { until } from '../support/until.ts';

const LONG =
  'The import of the parser in src/parser/very/deep/folder/index.test.js fails because the module "left-pad" cannot be found.';

/** Does what the name of its task says. */
const AGENT = `#!/bin/sh
case "$(cat)" in
  *"Do complete."*) echo "${LONG}"; echo "<promise>DONE</promise>" ;;
  *"Do fail."*) echo "${LONG}" >&2; exit 127 ;;
  *"Do wait."*) echo "<!-- ralph:state idle -->" ;;
  *"Do pause."*) : ;;
  *"Do work."*) touch "$NOTES/works"; until [ -e "$NOTES/go" ]; do sleep 0.1; done ;;
esac
`;
/** The agent of `work` works until the end, however long the test takes. */
const KEYS =
  'max_iterations: 10\ntimeout: 1h\ncompletion_promise: DONE\ncompletion_gate: disabled\nstop_on_error: true';
const WAITS = `${KEYS}\nidle: {delay: 1h}`;
/** In the order in which the worker takes them: the last one keeps its only slot. */
const TASKS = ['complete', 'fail', 'pause', 'cancel', 'wait', 'queue', 'follow', 'work'] as const;
const PLAN = '# Plan\n\n- [ ] **Task 1: One**\n- [ ] **Task 2: Two**\n';
const MESSAGE = 'Look at the parser first, please; the lexer can wait until tomorrow, as the tests say.';

test('no line breaks inside a word: loops of a fleet in every state', async (t) => {
  const tasks = TASKS.map((name) => ({ name, keys: name === 'wait' ? WAITS : KEYS }));
  const f = await fleet(t, { tasks, agent: AGENT, files: { 'PLAN.md': PLAN } });
  const server = await FleetServer.connect(loadPackages(process.cwd(), process.cwd()), f.redis.url);
  t.after(() => server.close());
  const forged = aSubmission('forged-0123456789');
  await addLoop(server, new FleetKey('o'.repeat(64)), forged);
  const id: Record<string, string> = {};
  const more: Record<string, () => string[]> = {
    queue: () => ['--account', 'other'],
    follow: () => ['--after', id['queue'] ?? ''],
  };
  for (const name of TASKS.slice(0, -1)) id[name] = f.add(`jobs/${name}`, more[name]?.());
  const tell = (...words: string[]): void => assert.equal(f.ask(words).code, 0, words.join(' '));
  for (const command of ['pause', 'cancel']) tell(command, id[command] ?? '');
  f.worker('one', ['--slots', '1']);
  const waits = (name: string, why: string, attempt: number): Promise<unknown> =>
    f.reaches(id[name] ?? '', `waits, ${why}`, ({ state, progress }) => {
      return state === 'waiting' && progress?.waits === why && progress.attempt === attempt;
    });
  await waits('wait', 'idle', 1);
  tell('steer', id['wait'] ?? '', MESSAGE);
  await waits('wait', 'idle', 2);
  await waits('follow', 'after', 0);
  const outcomes = { complete: 'complete', fail: 'error', pause: 'paused', cancel: 'cancelled' };
  for (const [name, outcome] of Object.entries(outcomes)) {
    await f.reaches(id[name] ?? '', outcome, ({ result }) => result?.outcome === outcome);
  }
  await f.reaches(forged.loopId, 'has failed', ({ state }) => state === 'failed');
  id['work'] = f.add('jobs/work');
  await until('the agent works', () => existsSync(join(f.notes, 'works')));
  const all = [...Object.values(id), forged.loopId];
  const FUNCTION = 'f() { word=$1; shift; $RALPH fleet "$word" "$@" --project "$ROOT"; }';
  const STATES = [
    FUNCTION,
    'f status; f status --all',
    ...all.map((each) => `f status ${each}`),
    ...['complete', 'fail', 'wait --activity', 'cancel'].map(
      (name) => `f logs ${name.replace(/^\w+/, (task) => id[task] ?? '')}`,
    ),
  ].join('\n');
  const REFUSALS = [
    FUNCTION,
    'f doctor; f doctor --requeue; f doctor --requeue --repo "$REMOTE"',
    'f add; f add jobs/complete; f add jobs/complete --repo /nowhere/at/all.git --agent ./agent.sh',
    'add() { f add "$@" --repo "$REMOTE" --agent ./agent.sh; }',
    'add jobs/none; add ../x; add PLAN.md; add jobs/work; add jobs/work --base none; add jobs/work --integrate x; add jobs/work --label "a b"; add jobs/work --after none; add jobs/work --max-iterations 0; add jobs/work --arg x',
    `f status none; f logs; f retry ${id['work']}; f cancel ${id['complete']}; f resume ${id['complete']}; f steer ${id['work']}; f pause ${id['work']} ${id['wait']}; f worker --slots 0; f worker --max-cost x; f stauts`,
    `f steer ${id['work']} "${MESSAGE}"`,
    'RALPH_FLEET_KEY=short f status; RALPH_FLEET_KEY=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx f status; RALPH_FLEET_KEY=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx f doctor',
    'RALPH_FLEET_URL=redis://127.0.0.1:1 f status; RALPH_FLEET_URL=redis://127.0.0.1:1 f doctor; RALPH_FLEET_URL=http://x f status',
  ].join('\n');
  const home = join(f.base, 'user');
  const env = { ...f.env, HOME: home, XDG_STATE_HOME: join(home, 'state'), ROOT: process.cwd(), REMOTE: f.remote };
  // Two terminals: each has the time of a whole test.
  await assertWholeWords('loops of a fleet', /forged-0123456789 +failed.*loop\.ended.*not paused/s, async (columns) => {
    const shown = (script: string) => shownRows({ dir: f.base, home, env }, script, columns);
    return { dir: f.base, lines: [...(await shown(STATES)), ...(await shown(REFUSALS))] };
  });
});
