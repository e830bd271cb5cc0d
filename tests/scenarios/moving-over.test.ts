import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { fakeClient } from '../support/fake-client.ts';
import { commitFolder } from '../support/git.ts';
import { OTHER_LOOPS } from '../support/other-loops.ts';
import { project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

/** Checks the next open box of the list. */
const AGENT = `#!/bin/sh
cat > /dev/null
for list in .ralph/*/task.md; do sed -i '0,/\\[ \\]/s//[x]/' "$list"; done
echo x >> work.txt
`;

for (const [tool, { path, text, name, items }] of someOf(Object.entries(OTHER_LOOPS), 3)) {
  test(`check, plan check and run print once the command that runs a list of ${tool}, and it runs`, async (t) => {
    const p = project(t);
    p.write(path, text);
    p.write('agent.sh', AGENT, 0o755);
    const asked = [['check'], ['plan', 'check'], ['run']].map((words) => p.ralph([...words, path], fakeClient(p)));
    const said = asked.map(({ stdout, stderr }) => stdout + stderr);
    const [own = ''] = tool.split(',');
    for (const each of said) assert.ok(each.includes(own), each);
    const command = /(mkdir -p .*ralph-loop run \S+)$/m.exec(said[0] ?? '')?.[1] ?? '';
    assert.ok(command.endsWith(`ralph-loop run ${name}`), said[0]);
    for (const each of said) assert.equal(each.split(command).length, 2, each);
    assert.ok(readFileSync('docs/moving-over.md', 'utf8').includes(command), `docs/moving-over.md has: ${command}`);
    const { code, stdout, stderr } = p.sh(`${command} --agent ./agent.sh`);
    assert.equal(code, 0, `${stdout}${stderr}`);
    assert.equal((p.read(`.ralph/${name}/task.md`).match(/\[x\]/g) ?? []).length, items);
    assert.equal(p.read(path), text, 'the file of the other tool is as it was');
    const again = await commandHere(p, ['check', path]);
    assert.match(again.stdout + again.stderr, /task\.md exists, and a new copy would replace it/);
    assert.doesNotMatch(again.stdout + again.stderr, /mkdir/, 'nothing that was added to the copy is lost');
  });
}

test('control: a list of nobody’s is told to move, and a plan of tasks is none of another tool', async (t) => {
  const p = project(t);
  p.write('todo.md', '- [ ] one\n');
  assert.match((await commandHere(p, ['check', 'todo.md'])).stdout, /move the file to \.ralph\/NAME\/task\.md/);
  p.write('PLAN.md', '- [ ] **Task 1: Make it**\n  - Scope: `work`\n  - Acceptance: it is there\n');
  assert.doesNotMatch((await commandHere(p, ['plan', 'check', 'PLAN.md'])).stdout, /mkdir/);
});

test('a task folder of pi-ralph-loop runs as it is, and its own records are moved aside whole', async (t) => {
  const p = project(t);
  p.write('my-task/RALPH.md', PI_TASK);
  p.write('my-task/.ralph-runner/status.json', '{"loopToken": "t", "status": "complete", "currentIteration": 4}\n');
  p.write('my-task/.ralph-runner/iterations.jsonl', '{"iteration": 1}\n');
  p.write(
    'agent.sh',
    '#!/bin/sh\ncat > /dev/null\necho x > my-task/FIXES.md\ntouch my-task/OPEN_QUESTIONS.md\necho "<promise>DONE</promise>"\n',
    0o755,
  );
  commitFolder(p.dir);
  const { code, stdout, stderr } = p.ralph([
    'run',
    'my-task',
    '--plain',
    '--agent',
    './agent.sh',
    '--arg',
    'owner=Ada',
  ]);
  assert.equal(code, 0, `${stdout}${stderr}`);
  assert.match(stdout, /my-task\/FIXES\.md \(new\)/);
  assert.doesNotMatch(stdout, /\.ralph-runner/, 'the loop’s own records are no change of the project');
  assert.doesNotMatch((await commandHere(p, ['undo', '--dry-run'])).stdout, /\.ralph-runner/);
  const moved = Object.keys(p.tree()).filter((path) => path.includes('.ralph-runner-archive/'));
  assert.ok(
    moved.some((path) => path.endsWith('/status.json')),
    moved.join(),
  );
  assert.match(p.read('my-task/.ralph-runner/status.json'), /"loopId"/);
});

test('a configuration of agentkit is read: thinking is effort, and unknown keys are one line', async (t) => {
  const p = project(t);
  p.write('.ralph/site/task.md', '# Goals\n\nShip it.\n\n# Checklist\n\n- [ ] one\n');
  p.write('.ralph/site/config.json', { maxIterations: 9, provider: 'x', thinking: 'high', tui: true, autoSave: 1 });
  const { stdout, stderr } = await commandHere(p, ['check', 'site', '--json']);
  const settings = JSON.parse(stdout)['settings'];
  assert.deepEqual([settings.max_iterations.value, settings.effort.value], [9, 'high'], stderr);
  p.write('.ralph/site/state.json', { status: 'paused', iteration: 3 });
  commitFolder(p.dir);
  const run = p.ralph(['run', 'site', '--plain', '--agent', 'true', '--max-iterations', '1']);
  assert.match(run.stdout, /Nothing changed since the start/);
  const lines = `${run.stdout}${run.stderr}`.split('\n').filter((line) => /provider|autoSave/.test(line));
  assert.equal(lines.length, 1, `${run.stdout}${run.stderr}`);
  assert.match(lines[0] ?? '', /provider, tui, autoSave are not known keys/);
});

const PI_TASK = `---
args:
  - owner
max_iterations: 20
timeout: 120
completion_promise: DONE
completion_gate: required
required_outputs:
  - FIXES.md
stop_on_error: false
---
Fix the failing auth tests for {{ args.owner }}.

Stop with <promise>DONE</promise> only when FIXES.md exists.
`;

test('open boxes of a file that is no checklist are named when it starts', (t) => {
  const p = project(t);
  const boxes = '# Fix\n\n- [ ] One\n- [ ] Two\n';
  p.write('docs/list.md', boxes);
  p.write('.ralph/site/task.md', boxes);
  const run = (...words: string[]) => p.ralph(['run', ...words, '--max-iterations', '1', '--agent', 'echo Work.']);
  assert.match(run('docs/list.md').stderr, /2 open boxes are not counted/);
  assert.doesNotMatch(run('site').stderr, /not counted/, 'control: a checklist counts them');
});
