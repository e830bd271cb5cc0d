import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fakeClient } from '../support/fake-client.ts';
import { DIST, project } from '../support/project.ts';

const STATE = '.claude/context/runtime/ralph-state.json';
const STOP = JSON.stringify({ hook_event_name: 'Stop', session_id: 's', prompt_id: 'p', stop_hook_active: false });

for (const [version, count] of [
  ['2.1.213', 1],
  ['2.1.330', 0],
] as const) {
  test(`the launcher repeats what the Stop hook says ${count === 1 ? 'to' : 'except to'} client ${version}`, (t) => {
    const p = project(t);
    p.write('.claude/ralph/PROMPT.md', '---\nvalidation: ["true"]\n---\nWork.\n');
    const env = fakeClient(p, version);
    // A client whose state breaks while it works, and which shows nothing of the answer to its Stop.
    const hook = join(DIST, 'hooks', 'ralph-stop-hook.cjs');
    p.write(
      join('..', 'home', `bin-${version}`, 'claude'),
      `#!/bin/sh
if [ "$1" = --version ]; then echo "${version} (Claude Code)"; exit; fi
echo '{"half":' > ${STATE}
echo '${STOP}' | CLAUDE_PROJECT_DIR="$PWD" ${process.execPath} ${hook} > answer.json
`,
      0o755,
    );
    const { stdout, stderr } = p.ralph(['start', '--launch', '--headless', '--permission-mode', 'acceptEdits'], env);
    assert.match(p.read('answer.json'), /"systemMessage":"ralph-loop: [^"]*state file[^"]*corrupt/);
    assert.equal((stdout + stderr).split('state file is corrupt').length - 1, count, stdout + stderr);
  });
}
