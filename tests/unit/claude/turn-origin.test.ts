import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { begunByCommand } from '../../../src/hosts/claude/transcript/transcript.ts';
import { folderWith } from '../../support/folder.ts';

const said = (content: unknown, more: object = {}): object => ({
  type: 'user',
  promptId: 'prompt-1',
  message: { role: 'user', content },
  ...more,
});
const FEEDBACK = said('Stop hook feedback:\n[ralph] Iteration 2 of 9.', { isMeta: true });
const COMMAND = [said('<bash-input>ls</bash-input>'), said('<bash-stdout>a</bash-stdout>')];
const CALL = [{ type: 'assistant', message: { content: [] } }, said([{ type: 'tool_result', content: 'fine' }])];

for (const [what, entries, expected] of [
  ['a command of the user, answered at once', [FEEDBACK, ...COMMAND], true],
  ['a command of the user, answered after a tool call', [FEEDBACK, ...COMMAND, ...CALL], true],
  ['the loop, after an earlier command of the user', [...COMMAND, FEEDBACK, ...CALL], false],
  ['a command of the user under another id', [FEEDBACK, said('<bash-input>ls', { promptId: 'prompt-2' })], false],
  ['a prompt', [said('go on'), ...CALL], false],
  ['nothing that the transcript holds', [], false],
] as const) {
  test(`recognises a turn under the id of the previous prompt, begun by ${what}`, (t) => {
    const path = join(folderWith(t), 'transcript.jsonl');
    writeFileSync(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    assert.equal(begunByCommand(path, 'prompt-1'), expected);
  });
}
