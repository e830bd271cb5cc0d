import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { userRestrictions } from '../../../src/install/settings/session-settings.ts';
import { emptyFolder } from '../../support/folder.ts';

test("reads only the restricting rules from the user's settings", (t) => {
  const dir = emptyFolder(t);
  const read = (text: string) => {
    writeFileSync(join(dir, 'settings.json'), text);
    return userRestrictions({ CLAUDE_CONFIG_DIR: dir });
  };
  assert.equal(userRestrictions({ CLAUDE_CONFIG_DIR: join(dir, 'missing') }), undefined);
  const permissions = { deny: ['Bash(git push:*)', 3], ask: ['WebFetch'], allow: ['Bash'] };
  assert.deepEqual(read(JSON.stringify({ permissions })), { deny: ['Bash(git push:*)'], ask: ['WebFetch'] });
  assert.deepEqual(read(`\uFEFF${JSON.stringify({ permissions })}`)?.deny, ['Bash(git push:*)'], 'a byte order mark');
  for (const text of ['', '[]', 'null', '{"permissions": "all"}', '{"permissions": {"deny": "Bash"}}']) {
    assert.equal(read(text), undefined, text);
  }
});
