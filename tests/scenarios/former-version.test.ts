import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { StoredContract } from '../../src/engine/schema/contract.ts';
import { hashContract } from '../../src/state/hash-contract.ts';
import { loopFiles } from '../../src/state/loop-files.ts';
import { commitFolder } from '../support/git.ts';
import { type Answer, DIST, type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { inPerson } from '../support/terminal/in-person.ts';

/** Files of loops that version 0.1.0 made, before the contract had a consent digest: text by path. */
interface Former {
  readonly files: Readonly<Record<string, string>>;
  readonly outside: Readonly<Record<string, string>>;
}

/** A project in which the former version was killed in the middle of its work. */
function former(context: TestContext, name: string, change = (text: string): string => text): Project {
  const p = project(context);
  const path = join(import.meta.dirname, 'support', 'former', `${name}.json`);
  const text = change(readFileSync(path, 'utf8'))
    .replaceAll('{{PROJECT}}', p.dir)
    .replaceAll('{{ROOT}}', dirname(p.dir));
  const { files, outside } = JSON.parse(text) as Former;
  const { outsideDir } = loopFiles(p.dir, null, p.env);
  const hashes = new Map<string, string>();
  mkdirSync(outsideDir, { recursive: true });
  for (const [file, content] of Object.entries(outside)) {
    writeFileSync(join(outsideDir, file), file.startsWith('contract') ? proved(content, hashes) : content);
  }
  for (const [file, content] of Object.entries(files)) {
    const mode = content.startsWith('#!') ? 0o755 : undefined;
    p.write(
      file,
      [...hashes].reduce((all, [was, is]) => all.replaceAll(was, is), content),
      mode,
    );
  }
  return p;
}

const FRONTMATTER = 'validation: [{name: done, run: "test -f done.txt"}]\n';

/** The contract holds the project's path, so that its hash is another one in each project. */
function proved(content: string, hashes: Map<string, string>): string {
  const stored = JSON.parse(content) as StoredContract;
  const hash = hashContract(stored.contract);
  hashes.set(stored.hash, hash);
  return JSON.stringify({ ...stored, hash });
}

function stop(p: Project, env: NodeJS.ProcessEnv = {}): Answer {
  const payload = { hook_event_name: 'Stop', session_id: 'session-1', cwd: p.dir, last_assistant_message: 'Work.' };
  const hook = `exec node '${join(DIST, 'hooks', 'ralph-stop-hook.cjs')}'`;
  return p.sh(hook, JSON.stringify(payload), { RALPH_ACTIVE: '1', CLAUDE_PROJECT_DIR: p.dir, ...env });
}

/** How the loop stands: status, mode and counted iterations. */
function standing(p: Project, name?: string): unknown[] {
  const { json } = p.ralph(['status', '--json', ...(name === undefined ? [] : ['--loop', name])]);
  return ['status', 'mode', 'iteration'].map((key) => json[key]);
}

test('a running loop of the former version continues in its session under its contract', (context) => {
  const p = former(context, 'running');
  // Its client is no process of this machine.
  assert.deepEqual(standing(p), ['interrupted', 'hook', 1]);
  const { stdout, stderr } = stop(p);
  assert.match(stdout, /"decision":"block"/, stderr);
  assert.doesNotMatch(stdout, /rewritten/);
  assert.deepEqual(standing(p), ['interrupted', 'hook', 2]);
});

const RESUMED = [
  ['running', undefined, 1],
  ['paused', undefined, 1],
  ['waiting', undefined, 0],
  ['task-folder', 'fix', 1],
  ['checklist', 'site', 0],
] as const;

for (const [name, loop, iteration] of someOf(RESUMED, 2)) {
  test(`a loop of the former version (${name}) is resumed with its counters`, (context) => {
    const p = former(context, name);
    const { code, stderr } = p.ralph(['start', '--resume', ...(loop === undefined ? [] : ['--loop', loop])]);
    assert.equal(code, 0, stderr);
    assert.deepEqual(standing(p, loop), ['running', 'hook', iteration]);
    const { stdout } = stop(p, loop === undefined ? {} : { RALPH_LOOP: loop });
    assert.match(stdout, /"decision":"block"/);
    assert.doesNotMatch(stdout, /rewritten/);
  });
}

test('a loop that ended under the former version is shown, and resumed from the archive', (context) => {
  const p = former(context, 'ended');
  assert.match(p.ralph(['status']).stdout, /stopped/);
  assert.equal(p.ralph(['resume']).code, 0);
  assert.deepEqual(standing(p), ['running', 'hook', 1]);
});

test('a plan of the former version is resumed', (context) => {
  const p = former(context, 'plan');
  commitFolder(p.dir, 'work');
  const { code, stderr } = p.ralph(['start', '--resume', '--task', 'PLAN.md']);
  assert.equal(code, 0, stderr);
  assert.deepEqual(standing(p), ['running', 'hook', 0]);
});

test('a run of the former version whose runner was killed continues with its agent and its limits', (context) => {
  const p = former(context, 'runner');
  rmSync(join(p.dir, 'prompt.txt'));
  p.write('agent.sh', '#!/bin/sh\ncat > prompt.txt\necho RALPH_AUDIT_COMPLETE_NO_FINDINGS\n', 0o755);
  const { code, stdout, stderr } = p.ralph(['resume']);
  assert.equal(code, 0, stdout + stderr);
  assert.match(p.read('prompt.txt'), /Iteration \d of 4/);
});

test('a run of the former version with checks completes verified, by checks whose earlier results are unknown', (context) => {
  const entry = { name: 'done', run: 'test -f done.txt', timeoutSeconds: 300 };
  const p = former(context, 'runner', (text) => {
    const { files, outside } = JSON.parse(text) as Former;
    const stored = JSON.parse(outside['contract.json'] ?? '') as StoredContract;
    const contract = {
      ...stored.contract,
      frontmatter: FRONTMATTER,
      head: `---\n${FRONTMATTER}---\n`,
      validation: [entry],
    };
    const task = `---\n${FRONTMATTER}---\nWork.\n`;
    return JSON.stringify({
      files: { ...files, '.claude/ralph/PROMPT.md': task },
      outside: { ...outside, 'contract.json': JSON.stringify({ ...stored, contract }) },
    });
  });
  p.write('agent.sh', '#!/bin/sh\ncat > prompt.txt\ntouch done.txt\necho RALPH_AUDIT_COMPLETE_NO_FINDINGS\n', 0o755);
  const { code, stdout, stderr } = p.ralph(['resume']);
  assert.equal(code, 0, stdout + stderr);
  const { json } = p.ralph(['status', '--json']);
  const { verified, proof } = json['report'] as { verified: boolean; proof: string };
  assert.deepEqual([verified, proof], [true, 'green']);
  assert.match(stdout, /Whether the checks passed before the start is unknown\./);
});

test('a router of the former version hands its work out again to the session that takes over', (context) => {
  const p = former(context, 'router');
  const { json, stderr } = p.ralph(['router', 'next']);
  assert.equal(json['action'], 'spawn', stderr);
  assert.deepEqual(standing(p), ['running', 'router', 1]);
});

const ASKED = [
  ['asked-session', ['start', '--consent']],
  ['asked-runner', ['run', '--consent', '--agent', 'touch ran; cat > /dev/null', '--max-iterations', '1']],
  ['scenarios', ['start', '--consent']],
] as const;

for (const [name, command] of someOf(ASKED, 2)) {
  test(`a request of an agent under the former version (${name}) still awaits consent, and gets it`, (context) => {
    const p = former(context, name);
    assert.equal(standing(p)[0], 'awaiting-consent');
    assert.doesNotMatch(stop(p).stdout, /"decision":"block"/);
    const { screen } = inPerson(p, command);
    assert.match(screen, /An agent has requested this loop:\n {2}task/);
    assert.notEqual(standing(p)[0], 'awaiting-consent');
  });
}

test('a state of a newer version is refused by name and stays unchanged', (context) => {
  const p = former(context, 'running');
  const path = '.claude/context/runtime/ralph-state.json';
  const newer = p.read(path).replace(/"schemaVersion": ?\d+/, '"schemaVersion": 99');
  p.write(path, newer);
  assert.match(p.ralph(['start', '--resume']).stderr, /newer/);
  assert.equal(p.read(path), newer);
});
