import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { project } from '../support/project.ts';
import { longTest } from '../support/short-form.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';
import { assertWholeWords, type Shown } from '../support/terminal/whole-words.ts';
import { until } from '../support/until.ts';
import { agent, MAIN, task } from './support/command-agent.ts';

const LONG =
  'The import of the parser in src/parser/very/deep/folder/index.test.js fails because the module "left-pad" cannot be found.';
const MESSAGE = 'Look at the parser first, please; the lexer can wait until tomorrow, as the tests say.';

/** Waits in every run for its file; has nothing to do in the second, claims too early in the third. */
const AGENT = `n=$(wc -l < runs.txt); echo "$prompt" > "prompt-$n.txt"
until [ -e "go-$n" ]; do sleep 0.05; done
echo "${LONG}"
case $n in 2) echo "<!-- ralph:state idle -->" ;; 4) touch done ;; esac
[ "$n" -lt 3 ] || echo RALPH_AUDIT_COMPLETE_NO_FINDINGS`;

/** What `attach` shows of a loop from its first iteration to its end. */
async function attached(t: TestContext, columns: number): Promise<Shown> {
  const p = project(t);
  const cmd = agent(p, AGENT);
  task(
    p,
    'max_iterations: 9\ninter_iteration_delay: 0\nidle: {delay: 1h}\nvalidation: [{name: proof, run: test -e done}]',
  );
  const child = spawn(process.execPath, [MAIN, 'run', '--agent', cmd], { cwd: p.dir, env: p.env, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  t.after(() => child.kill('SIGKILL'));
  const prompted = (n: number): Promise<true> => until(`prompt ${n}`, () => existsSync(join(p.dir, `prompt-${n}.txt`)));
  await prompted(1);
  const terminal = await peopleTerminal(t, p, '$RALPH attach; echo left $?', {}, columns);
  const screens: string[] = [];
  const keep = async (...wanted: RegExp[]): Promise<void> => void screens.push(await terminal.waitFor(...wanted));
  await keep(/Iteration 1 of 9/, /Ctrl\+C: leave/);
  await terminal.submit(MESSAGE);
  await keep(/next tool\s+call: Look/);
  p.write('go-1', '');
  await prompted(2);
  assert.match(p.read('prompt-2.txt'), /Look at the parser first/);
  await keep(/Iteration 2 of 9/);
  p.write('go-2', '');
  await keep(/idle:\s+wakes\s+in/);
  assert.equal(p.ralph(['wake']).code, 0);
  await prompted(3);
  p.write('go-3', '');
  await keep(/Completion\s+rejected/);
  await prompted(4);
  await terminal.key('Escape');
  await keep(/│ pauses after this iteration/);
  // Long enough that the end says how long it was stopped, at either width.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  assert.equal(p.ralph(['resume']).code, 0);
  p.write('go-4', '');
  assert.equal(await terminal.waitForExit(), 0);
  assert.equal(await ended, 0);
  screens.push(await terminal.history());
  const lines = screens.flatMap((screen) => screen.trimEnd().split('\n'));
  return { dir: p.dir, lines: lines.map((text) => ({ text, broken: false })) };
}

longTest('no line breaks inside a word: attach, from the first iteration to the end of the loop', async (t) => {
  await assertWholeWords('attach', /Complete after \d iterations.*left 0/s, (columns) => attached(t, columns));
});
