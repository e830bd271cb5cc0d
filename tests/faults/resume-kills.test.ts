import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { agent, task } from '../scenarios/support/command-agent.ts';
import { isKilledAt } from '../support/faults/kill-command.ts';
import { commitFolder } from '../support/git.ts';
import { type Project, project } from '../support/project.ts';
import { IS_LONG } from '../support/short-form.ts';

/** Every how many changes of the disk a kill is tried; 1 tries them all. */
const STEP = Number(process.env['KILL_STEP'] ?? (IS_LONG ? 13 : 97));
/** A report changes the disk a few times only. */
const REPORT_STEP = Math.min(STEP, IS_LONG ? 1 : 2);
const ADOPTED = /Adopted by the resume: script check\.sh/;

/** A loop at its limit, whose user has then corrected the check that could not pass, or the project. */
function aCorrectedLoop(t: TestContext, check = 'exit 1\n', corrected = 'check.sh'): Project {
  const p = project(t);
  p.write('check.sh', check);
  task(p, 'max_iterations: 1\nvalidation: ["sh check.sh"]');
  const cmd = agent(p, 'echo RALPH_AUDIT_COMPLETE_NO_FINDINGS');
  commitFolder(p.dir);
  assert.equal(p.ralph(['run', '--plain', '--agent', cmd]).code, 2);
  p.write(corrected, 'exit 0\n');
  return p;
}

test('a resume that is killed at any moment can be repeated, and the report names what it adopted', (t) => {
  let kills = 0;
  for (let at = 1; ; at += STEP) {
    const p = aCorrectedLoop(t);
    const isKilled = isKilledAt(p, ['resume', '--plain', '--max-iterations', '9'], at);
    if (!isKilled) break;
    kills += 1;
    const shown = p.ralph(['status', '--json']);
    assert.equal(shown.stderr, '', `call ${at}: ${shown.stderr}`);
    const { code, stderr } = p.ralph(['resume', '--plain', '--max-iterations', '9']);
    if (code !== 0) assert.match(stderr, /is complete/, `call ${at}`);
    const { stdout } = p.ralph(['explain']);
    assert.match(stdout, /Complete after [23] iterations, verified by 1 check/, `call ${at}`);
    assert.match(stdout, ADOPTED, `call ${at}`);
  }
  assert.ok(kills > 2, String(kills));
});

test('control: a resume that adopts nothing names nothing', (t) => {
  const p = aCorrectedLoop(t, 'test -e fixed\n', 'fixed');
  assert.equal(p.ralph(['resume', '--plain', '--max-iterations', '2']).code, 0);
  assert.doesNotMatch(p.ralph(['explain']).stdout, ADOPTED);
});

test('a report that is killed is whole or absent, and the next one removes its draft', (t) => {
  const p = aCorrectedLoop(t);
  assert.equal(p.ralph(['report', '--out', 'whole.html']).code, 0);
  const isWhole = (name: string): boolean => /<\/html>\s*$/.test(p.read(name));
  assert.ok(isWhole('whole.html'));
  let drafts = 0;
  for (let at = 1; ; at += REPORT_STEP) {
    const name = `report-${at}.html`;
    const isKilled = isKilledAt(p, ['report', '--out', name], at);
    assert.ok(!p.has(name) || isWhole(name), `call ${at}`);
    const left = Object.keys(p.tree()).filter((path) => path.startsWith(`${name}.`));
    drafts += left.length;
    assert.equal(p.ralph(['report', '--out', name]).code, 0);
    assert.deepEqual(
      Object.keys(p.tree()).filter((path) => path.startsWith(`${name}.`)),
      [],
    );
    if (!isKilled) break;
  }
  assert.ok(drafts > 0, 'control: a kill leaves a draft');
  const text = readFileSync(`${p.dir}/whole.html`, 'utf8');
  writeFileSync(`${p.dir}/half.html`, text.slice(0, text.length >> 1));
  assert.equal(isWhole('half.html'), false, 'control: a report that is written half is noticed');
});
