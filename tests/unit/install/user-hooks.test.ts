import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { USER_HOOKS } from '../../../src/hosts/gemini/gemini.ts';
import { withoutUserHooks, withUserHooks, writeUserHooks } from '../../../src/install/settings/user-hooks.ts';
import { emptyFolder } from '../../support/folder.ts';

/** Adds our hooks to a file with this text, lets the user change it, and removes them again. Returns the text at the end. */
function roundTrip(context: TestContext, text: string, change = (added: string): string => added): string {
  const env = { HOME: emptyFolder(context) };
  const path = join(env.HOME, '.gemini', 'settings.json');
  mkdirSync(join(env.HOME, '.gemini'));
  writeFileSync(path, text);
  writeUserHooks(withUserHooks(USER_HOOKS, env));
  const added = readFileSync(path, 'utf8');
  assert.equal(added.split('--host gemini').length - 1, 5, added);
  writeFileSync(path, change(added));
  writeUserHooks(withoutUserHooks(USER_HOOKS, env));
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

const THEIRS = '{ "hooks": [{ "type": "command", "command": "mine" }] }';
const TEXTS = [
  '{}',
  '{\n  // my settings, none yet\n}',
  '{\n  "hooks": { // none yet\n  }\n}\n',
  '{ "hooks": {}, "a": 1 }',
  '{ "hooks": { "BeforeTool": [ /* none */ ] } }',
  `{ "hooks": { "BeforeTool": [${THEIRS}] /* all */ } }\n`,
];

test("the user's file is the same byte for byte after init and uninit", (context) => {
  for (const text of TEXTS) assert.equal(roundTrip(context, text), text);
});

test('a file that the user has changed since loses our hooks alone, and no comment', (context) => {
  for (const text of TEXTS) {
    const end = roundTrip(context, text, (added) => added.replace('{', '{ /* later */'));
    const comments = (each: string): string[] => each.match(/\/\/[^\n]*|\/\*.*?\*\//g) ?? [];
    assert.deepEqual(comments(end), ['/* later */', ...comments(text)], end);
    assert.equal(end.includes('--host gemini'), false);
    assert.equal(end.includes('"hooks": {'), text.includes('"hooks": {'), 'a list of hooks that was there stays');
    assert.equal(end.includes('"command": "mine"'), text.includes('"command": "mine"'));
  }
});

test("a comment above the user's own hook stays when ours before it goes", (context) => {
  const end = roundTrip(context, '{ "hooks": { "BeforeTool": [] } }', (added) => {
    const timeout = added.indexOf('600000', added.indexOf('"BeforeTool"'));
    const at = timeout + (/^600000\s*\}\s*\]\s*\}/.exec(added.slice(timeout))?.[0].length ?? Number.NaN);
    return `${added.slice(0, at)}, // MY, NOTE\n${THEIRS}${added.slice(at)}`;
  });
  assert.match(end, /\[\s*\/\/ MY, NOTE\n\{ "hooks": \[\{ "type": "command", "command": "mine" \}\] \}\s*\]/);
});
