import assert from 'node:assert/strict';
import { test } from 'node:test';
import { project } from '../support/project.ts';
import { agent, task } from './support/command-agent.ts';

const SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';

test('a rejected claim shows the check, its exit code and the end of its output on the screen', (t) => {
  const p = project(t);
  p.write('check.sh', 'seq 1 30; echo "MISMATCH want 13 got 4"; exit 1\n');
  task(p, 'max_iterations: 1\nvalidation: ["sh check.sh"]');
  const { code, stdout } = p.ralph(['run', '--plain', '--agent', agent(p, `echo ${SIGNAL}`)]);
  assert.equal(code, 2, stdout);
  const lines = stdout.split('\n');
  const from = lines.indexOf('ralph-loop: Completion rejected: sh check.sh.');
  assert.deepEqual(lines.slice(from + 1, from + 5), [
    '  sh check.sh: exit code 1.',
    '    [Show 16 more lines: ralph-loop logs.]',
    '    17',
    '    18',
  ]);
  assert.equal(lines[from + 17], '    MISMATCH want 13 got 4');
  const [explained, logged] = ['explain', 'logs'].map((command) => p.ralph([command]).stdout);
  assert.match(explained ?? '', /^ +\[Show 16 more lines: ralph-loop logs\.\]\n +17$/m);
  assert.match(logged ?? '', /sh check\.sh: exit code 1\.\n +1\n +2\n/, 'the command that is named shows all lines');
});

test('explain of a complete loop names a refused claim and the command that shows its output', (t) => {
  const p = project(t);
  p.write('check.sh', 'test -e done.txt && exit 0; seq 1 30; exit 1\n');
  task(p, 'max_iterations: 2\nvalidation: ["sh check.sh"]');
  const cmd = agent(p, `test "$(wc -l < runs.txt)" -lt 2 || touch done.txt; echo ${SIGNAL}`);
  const { code, stdout } = p.ralph(['run', '--plain', '--agent', cmd]);
  assert.equal(code, 0, stdout);
  const explained = p.ralph(['explain']).stdout;
  assert.match(explained, /\n +sh check\.sh: exit code 1\.\n +\[Show 30 more lines: ralph-loop logs\.\]\n/);
  assert.doesNotMatch(explained, /^ +\d+$/m);
});

test('a claim that lacks a required file names the file on the screen', (t) => {
  const p = project(t);
  p.write(
    'job/RALPH.md',
    '---\ncompletion_promise: DONE\ncompletion_gate: required\nrequired_outputs: [FIXES.md]\nmax_iterations: 1\n---\nFix it.\n',
  );
  const cmd = agent(p, 'echo "$prompt" > seen.txt; echo "<promise>DONE</promise>"');
  const { stdout } = p.ralph(['run', '--path', 'job', '--plain', '--agent', cmd]);
  assert.match(p.read('seen.txt'), /\nStill missing: job\/FIXES\.md, job\/OPEN_QUESTIONS\.md\n/);
  assert.match(stdout, /\n {2}required output FIXES\.md: missing; create it as job\/FIXES\.md\.\n/);
  assert.match(stdout, /\n {2}OPEN_QUESTIONS\.md: missing; create it as job\/OPEN_QUESTIONS\.md\./);
});

test('what two rejected claims leave to later agents names no command of the user and runs no file', (t) => {
  const p = project(t);
  p.write('.claude/context/memory/.keep', '');
  p.write('.claude/ralph/guardrails.md', '# Guardrails\n');
  p.write(
    'job/RALPH.md',
    '---\ncompletion_promise: DONE\ncompletion_gate: required\nrequired_outputs: [FIXES.md]\nmax_iterations: 2\n---\nFix it.\n',
  );
  p.ralph(['run', '--path', 'job', '--plain', '--agent', agent(p, 'echo "<promise>DONE</promise>"')]);
  const learned = p.read('.claude/context/memory/learnings.md');
  assert.match(learned, /^- .*, loop job \(.*\): Stopped after 2 iterations, the limit/m);
  assert.doesNotMatch(learned, /ralph-loop|--resume|main\.cjs/);
  const signs = p.read('.claude/ralph/guardrails.md');
  assert.match(
    signs,
    /\*\*Instruction\*\*: Run each failed command yourself and read its output to the end; write each missing file\./,
  );
  assert.doesNotMatch(signs, /Run required output/);
});

test('the screen says why a command was not run and how another one failed', (t) => {
  const p = project(t);
  p.write('verify.js', 'process.exit(0)\n');
  p.write('src/cart.js', 'const a = 1;\n');
  const lines = ['verify: node verify.js', 'lint: node --check src/cart.js', 'tests: exit 3'];
  const commands = lines.map((line) => line.split(': ')).map(([name, run]) => `{name: ${name}, run: "${run}"}`);
  p.write('job/RALPH.md', `---\ncommands: [${commands.join(', ')}]\nmax_iterations: 2\n---\nDo it.\n`);
  const cmd = agent(p, 'echo "process.exit(1)" > verify.js; echo "const a = 2;" > src/cart.js; echo done');
  const { stdout } = p.ralph(['run', 'job', '--plain', '--agent', cmd]);
  const shown = stdout.replaceAll(/\([\d.m]+s\)/g, '(TIME)').split('\n');
  assert.ok(shown.includes('  ✓ verify (TIME)'), stdout);
  assert.ok(shown.includes('  ✗ verify (TIME): not run, verify.js was changed since the loop started'), stdout);
  assert.ok(shown.includes('  ✗ tests (TIME): exit code 3'), stdout);
  assert.equal(shown.filter((line) => line === '  ✓ lint (TIME)').length, 2, 'control: a file that is read may change');
});
