import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLIENTS } from '../../facts/install.ts';
import { probesOf } from '../../facts/list.ts';
import { judge, readStored, versionsOf } from '../../facts/stored.ts';

const stored = readStored();

test('every fact is stored for every measured version, and what the product relies on holds', () => {
  for (const name of Object.keys(CLIENTS) as (keyof typeof CLIENTS)[]) {
    const wanted = probesOf(name).flatMap(({ facts }) => Object.keys(facts));
    assert.equal(new Set(wanted).size, wanted.length, 'no fact has two rows');
    const versions = versionsOf(stored, name);
    assert.ok(versions.length > 0, name);
    for (const version of versions) {
      const facts = stored[name]?.[version] ?? {};
      assert.deepEqual(
        Object.keys(facts).toSorted(),
        wanted.toSorted(),
        `${name} ${version}: run npm run client:facts`,
      );
      assert.deepEqual(judge(name, undefined, facts), { broken: [], changed: [] });
    }
  }
});

test('a release that changes a fact is told apart from one that breaks it', () => {
  const [version = ''] = versionsOf(stored, 'Codex');
  const facts = stored['Codex']?.[version] ?? {};
  const relied = 'a blocked Stop is followed by another model call';
  const { broken, changed } = judge('Codex', facts, { ...facts, [relied]: 'no', 'a hook that crashes': 'denied' });
  assert.deepEqual(broken, [`${relied}: no, and we rely on: yes`]);
  assert.deepEqual(changed, ['a hook that crashes: ran -> denied']);
});
