import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOOK_TEXTS } from '../../src/drive/turn/messages.ts';
import { apiErrorText, failedText, tripText } from '../../src/engine/messages.ts';
import { type Message, render } from '../../src/text/message.ts';
import fc from '../support/property.ts';

/** Evidence as agents and programs write it, with what looks like a command of ours in it. */
const evidence = fc.oneof(
  fc.string({ maxLength: 200 }),
  fc.constantFrom('ralph-loop start --resume', 'ralph-audit.sh --loop x', 'ralph-loop start --fresh', '$& $1 --loop'),
);
const context = fc.record({
  name: fc.option(fc.constantFrom('docs', 'a.b')),
  mode: fc.constantFrom('hook' as const, 'runner' as const, 'router' as const),
  program: fc.constantFrom('ralph-loop', 'node dist/scripts/main.cjs'),
});

const MESSAGES: readonly ((evidence: string) => Message)[] = [
  (text) => failedText(3, text),
  (text) => tripText({ signal: 'sameError', evidence: text, repeats: 3 }),
  (text) => apiErrorText({ kind: 'billing', message: text, resetsAt: null }, 'hook'),
  (text) => HOOK_TEXTS.corrupt('archive', text, text.length % 2 === 0),
  (text) => HOOK_TEXTS.frontmatterChanged(text),
];

test('a message quotes its evidence verbatim', () => {
  fc.assert(
    fc.property(fc.constantFrom(...MESSAGES), evidence, context, (message, text, shown) => {
      assert.ok(render(message(text), shown).includes(text));
    }),
  );
});
