import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statedBlockers } from '../../../src/engine/plan/blockers.ts';

const NONE = [
  'Blockers: none',
  'Blockers: None.',
  'Blockers: N/A',
  'Blockers: n/a - the suite passes',
  'Blockers: -',
  'Blockers: —',
  'Blockers:',
  'Blockers: No blockers.',
  'Blockers: no',
  'Blockers: 0',
  'Blockers: nothing',
  'Blockers: No known blockers at this time.',
  'Blockers: There are no blockers.',
  'Blockers: none, all tests pass',
  'Blockers: none (the key was there)',
  'Blockers: none so far',
  'Blockers: No open issues remain.',
  'Blockers: nothing is blocking.',
  'Blockers: not blocked',
  'Blockers: resolved, the lock file was stale',
  'Blocker: `none`',
  '**Blockers:** None',
  '**Blockers**: _none_',
  '- **Blockers:** none.',
  '* Blockers: none',
  '1. Blockers: none',
  '## Blockers\n\nNone.',
  '### Blockers\n- none',
  '**Blockers**\n\n- None',
  'Blockers:\n- none',
  'Blockers:\n\nI also tidied the imports.',
  'Blockers: ✅ none',
  'Blockers: None ✅',
  '| Blockers | none |',
  'Blockers – none',
  'Blockers: none <!-- ralph:state partial -->',
  'Summary: removed the blockers: none is left\nBlockers: none',
  'Blockers: none\n\nThe rest is in the README.',
  '```\nBlockers: I could not create a.txt\n```',
  '> Blockers: I could not create a.txt',
  'The report says `Blockers: no key`.',
  'Blockers are listed in the plan.',
  'I fixed it.',
];

const NAMED: readonly (readonly [string, string])[] = [
  ['Blockers: I could not create a.txt', 'I could not create a.txt'],
  ['Blocker: the key is missing', 'the key is missing'],
  ['**Blockers:** the API key is missing', 'the API key is missing'],
  ['**Blockers**: the *API* key is missing.', 'the API key is missing.'],
  ['- **Blockers:** the API key is missing', 'the API key is missing'],
  ['  - Blockers: no network', 'no network'],
  ['Summary: half of it.\nBlockers: the API key\nis missing', 'the API key is missing'],
  ['Blockers:\n- the API key is missing\n- no network', 'the API key is missing / no network'],
  ['Blockers:\n\n1. the API key is missing', 'the API key is missing'],
  ['Blockers:\n- none for the code\n- the API key is missing', 'none for the code / the API key is missing'],
  ['## Blockers\n\nThe API key is missing.\n\n## Next\n\nAsk.', 'The API key is missing.'],
  ['**Blockers**\n\n- The API key is missing', 'The API key is missing'],
  ['BLOCKERS: permission denied\nLearnings: none', 'permission denied'],
  ['Blockers: None of the tests can be run', 'None of the tests can be run'],
  ['Blockers: none except the missing key', 'none except the missing key'],
  ['Blockers: none, except that the database is down', 'none, except that the database is down'],
  ['Blockers: No blockers, but the key is missing', 'No blockers, but the key is missing'],
  ['Blockers: n/a (apart from the missing key)', 'n/a (apart from the missing key'],
  ['**Blockers (2):**\n- no key\n- no network', 'no key / no network'],
  ['Blockers: No API key was given', 'No API key was given'],
  ['Blockers: no issue tracker access', 'no issue tracker access'],
  ['Blockers: nothing works without the key', 'nothing works without the key'],
  ['| Blockers | the key is missing |', 'the key is missing'],
  ['Blockers — the key is missing', 'the key is missing'],
  ['## Blockers\n\n- GitHub: no access\n- Network: none', 'GitHub: no access / Network: none'],
  ['Blockers\n--------\n\nThe key is missing', 'The key is missing'],
  ['Blockers: the key is missing\n**Next:** ask', 'the key is missing'],
  ['Blockers: `npm test` fails', 'npm test fails'],
];

for (const text of NONE) {
  test(`names no blocker: ${JSON.stringify(text).slice(0, 60)}`, () => assert.equal(statedBlockers(text), null));
}

for (const [text, said] of NAMED) {
  test(`names a blocker: ${JSON.stringify(text).slice(0, 60)}`, () => assert.equal(statedBlockers(text), said));
}
