import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addRegistration } from '../../../src/install/init-project.ts';
import { sessionRegistration } from '../../../src/install/settings/registration.ts';
import { withdrawRegistration } from '../../../src/install/settings/withdraw-registration.ts';
import { sha256 } from '../../../src/state/hash-contract.ts';
import fc, { runs } from '../../support/property.ts';

const PATH = '.claude/settings.json';
const OURS = sessionRegistration('linux');

/** Settings of any content: keys of the client, hooks of others, whatever else. */
const hook = fc.record({ type: fc.constant('command'), command: fc.string() });
const group = fc.record({ matcher: fc.string(), hooks: fc.array(hook, { maxLength: 3 }) }, { requiredKeys: ['hooks'] });
const hooks = fc.dictionary(fc.constantFrom('Stop', 'SessionStart', 'PreToolUse', 'Notification'), fc.array(group));
const settings = fc
  .tuple(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), fc.option(hooks, { nil: undefined }))
  .map(([others, own]) => ({ ...others, ...(own === undefined ? { hooks: {} } : { hooks: own }) }) as object);

/** Any of the ways in which programs and people write it. */
const style = fc.record({
  indent: fc.constantFrom(0, 2, 4, '\t', ' '),
  eol: fc.constantFrom('\n', '\r\n'),
  end: fc.constantFrom('', '\n', '\n\n', '  '),
  mark: fc.boolean(),
});
const text = fc.tuple(settings, style).map(([value, { indent, eol, end, mark }]) => {
  const plain = JSON.stringify(value, null, indent) + end;
  return (mark ? '\uFEFF' : '') + plain.replaceAll('\n', eol);
});

function parse(json: string): { hooks?: Record<string, unknown[]> } {
  return JSON.parse(json.replace('\uFEFF', ''));
}

test('any settings keep their values and get each of our hooks once', () => {
  fc.assert(
    fc.property(text, (before) => {
      const added = addRegistration(before, OURS, PATH);
      const expected = parse(before);
      expected.hooks ??= {};
      for (const [event, groups] of Object.entries(OURS)) {
        expected.hooks[event] = [...(expected.hooks[event] ?? []), ...groups];
      }
      assert.deepEqual(parse(added.text), JSON.parse(JSON.stringify(expected)));
      assert.equal(addRegistration(added.text, OURS, PATH).inserted.length, 0, 'a second time adds nothing');
    }),
    { numRuns: runs(200) },
  );
});

test('settings that were not changed since are restored byte for byte', () => {
  fc.assert(
    fc.property(text, (before) => {
      const { text: after, inserted, created } = addRegistration(before, OURS, PATH);
      const record = { createdFile: false, after: sha256(after), inserted, created };
      assert.equal(withdrawRegistration(after, record, PATH), before);
    }),
    { numRuns: runs(200) },
  );
});

test('settings that were reformatted since lose our hooks and nothing else', () => {
  fc.assert(
    fc.property(text, fc.constantFrom(0, 2, '\t'), (before, indent) => {
      const { text: after, inserted, created } = addRegistration(before, OURS, PATH);
      const record = { createdFile: false, after: sha256(after), inserted, created };
      const rewritten = JSON.stringify(parse(after), null, indent);
      const withdrawn = withdrawRegistration(rewritten, record, PATH);
      assert.deepEqual(parse(withdrawn ?? ''), parse(before));
    }),
    { numRuns: runs(200) },
  );
});

test('without a record our hooks are still found and removed with the containers that they leave empty', () => {
  const { text: after } = addRegistration('{"model":"opus"}', OURS, PATH);
  assert.deepEqual(parse(withdrawRegistration(after, null, PATH) ?? ''), { model: 'opus' });
});

test('our hooks are removed from settings in which the user has written comments, which stay', () => {
  const { text: after, inserted, created } = addRegistration('{\n  "model": "opus"\n}\n', OURS, PATH);
  const record = { createdFile: false, after: sha256(after), inserted, created };
  const commented = after.replace('{\n', '{\n  // mine\n');
  assert.equal(withdrawRegistration(commented, record, PATH), '{\n  // mine\n  "model": "opus"\n}\n');
  assert.throws(() => withdrawRegistration(commented.replace('"opus"', ''), record, PATH), { code: 'refused' });
});

test('control: a settings text with a byte changed since is not cut at the old offsets', () => {
  const { text: after, inserted, created } = addRegistration('{\n  "a": 1\n}\n', OURS, PATH);
  const record = { createdFile: false, after: sha256(after), inserted, created };
  const changed = after.replace('"a": 1', '"a": 12345');
  assert.equal(withdrawRegistration(changed, record, PATH), '{\n  "a": 12345\n}\n');
  const cut = inserted.reduceRight(
    (rest, { offset, length }) => rest.slice(0, offset) + rest.slice(offset + length),
    changed,
  );
  assert.notEqual(cut, '{\n  "a": 12345\n}\n');
});
