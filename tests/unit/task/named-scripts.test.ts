import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pinsOf } from '../../../src/task/pinned-scripts/named-scripts.ts';
import { folderWith } from '../../support/folder.ts';

const namedScripts = (...call: Parameters<typeof pinsOf>): string[] => [...pinsOf(...call).scripts];

const FILES = {
  'check.sh': 'exit 0\n',
  'scripts/verify.js': '',
  'scripts/lint.py': '',
  'sub/check.sh': '',
  'sub/package.json': '{"scripts":{"test":"bash check.sh"}}',
  'config/eslint.config.js': '',
  'NOTES.md': '',
  Makefile: 'test:\n',
  'sub/Makefile': 'include $(sort $(wildcard mk/*.mk))\n',
  'sub/mk/test.mk': 'test:\n\t./check.sh\n',
  'libs/a/b/c/package.json': '{"scripts":{"unit":"exit 1"}}',
  'package.json': JSON.stringify({
    scripts: {
      test: 'node scripts/verify.js',
      pretest: 'sh check.sh',
      lint: 'python3 scripts/lint.py',
      loop: 'npm run loop',
    },
  }),
};

const CASES: readonly (readonly [string, readonly string[]])[] = [
  ['./check.sh', ['check.sh']],
  ['bash check.sh --fast', ['check.sh']],
  ['"./check.sh"', ['check.sh']],
  ['$PWD/check.sh', ['check.sh']],
  ['sh "$(git rev-parse --show-toplevel)/check.sh"', ['check.sh']],
  ['node --require=$PWD/none.js scripts/verify.js', ['scripts/verify.js']],
  ['$HOME/check.sh', []],
  ['node scripts/verify', ['scripts/verify.js']],
  ['FOO=1 timeout 60 bash ./scripts/../check.sh', ['check.sh']],
  ['bash -c "node scripts/verify.js && ./check.sh"', ['scripts/verify.js', 'check.sh']],
  ['x=$(./check.sh)', ['check.sh']],
  ['cat NOTES.md | python3 scripts/lint.py', ['scripts/lint.py']],
  ['python3 - < scripts/lint.py', ['scripts/lint.py']],
  ['./check.sh > NOTES.md', ['check.sh']],
  ['test -f NOTES.md && grep -q done NOTES.md', []],
  ['[ -s NOTES.md ]', []],
  ['npx eslint --config=config/eslint.config.js .', ['config/eslint.config.js']],
  ['NODE_OPTIONS=--require=./scripts/verify.js npx x', ['scripts/verify.js']],
  ['cd sub && ./check.sh', ['check.sh', 'sub/check.sh']],
  ['make test', ['Makefile']],
  ['make -sC sub test', ['sub/Makefile', 'sub/mk/test.mk', 'sub/check.sh']],
  ['make -Csub test', ['sub/Makefile', 'sub/mk/test.mk', 'sub/check.sh']],
  ['make -fsub/mk/test.mk', ['sub/mk/test.mk', 'check.sh']],
  ['npm run unit --workspaces', ['libs/a/b/c/package.json#scripts.unit']],
  ['npm test', ['package.json#scripts.pretest', 'check.sh', 'package.json#scripts.test', 'scripts/verify.js']],
  ['npm t', ['package.json#scripts.pretest', 'check.sh', 'package.json#scripts.test', 'scripts/verify.js']],
  ['npm run lint -- --fix', ['package.json#scripts.lint', 'scripts/lint.py']],
  ['yarn lint', ['package.json#scripts.lint', 'scripts/lint.py']],
  ['pnpm --silent run lint', ['package.json#scripts.lint', 'scripts/lint.py']],
  ['env CI=1 npm --prefix sub test', ['sub/package.json#scripts.test', 'sub/check.sh']],
  ['npm --prefix=sub test', ['sub/package.json#scripts.test', 'sub/check.sh']],
  ['npm run loop', ['package.json#scripts.loop']],
  ['npm run absent', []],
  ['npm ci && npm install x', []],
  ['jq . package.json', []],
  ['../outside.sh', []],
  ['/etc/hostname', []],
  ['if true; then ./check.sh; fi', ['check.sh']],
  ['./check.sh "unclosed', ['check.sh']],
  ['', []],
];

for (const [run, expected] of CASES) {
  test(`finds the project's own files that ${JSON.stringify(run)} names`, (context) => {
    assert.deepEqual(namedScripts(folderWith(context, FILES), run), expected);
  });
}

test('an absolute path into the project names the same file', (context) => {
  const directory = folderWith(context, FILES);
  assert.deepEqual(namedScripts(directory, `bash '${join(directory, 'check.sh')}'`), ['check.sh']);
});

test('a symlink that leads out of the project names none of its files', (context) => {
  const directory = folderWith(context, FILES);
  symlinkSync('/etc/hostname', join(directory, 'link.sh'));
  symlinkSync(tmpdir(), join(directory, 'elsewhere'));
  symlinkSync('check.sh', join(directory, 'inside.sh'));
  assert.deepEqual(namedScripts(directory, 'sh link.sh; sh inside.sh; sh elsewhere'), ['inside.sh']);
});

test('a missing file is still named if it is known', (context) => {
  const known = new Set(['gone.sh', 'package.json#scripts.gone']);
  assert.deepEqual(namedScripts(folderWith(context, FILES), './gone.sh && npm run gone', known), [...known]);
});

test('a deeply nested text names what was found until the limit and never throws', (context) => {
  const directory = folderWith(context, FILES);
  for (const text of ['$('.repeat(20_000), `./check.sh ${'x'.repeat(100_000)}`, 'a\0b ./check.sh']) {
    assert.doesNotThrow(() => namedScripts(directory, text), text.slice(0, 20));
  }
});

const SHELL_TESTS = {
  'tests/a.sh': 'sh lib.sh\n',
  'tests/b.sh': '',
  'lib.sh': '',
  'all.sh': 'for t in tests/*.sh\ndo sh "${t}"\ndone',
};
const GLOBS: readonly (readonly [string, readonly string[]])[] = [
  ['for f in tests/*.sh; do sh "$f" || exit 1; done', ['tests/a.sh', 'lib.sh', 'tests/b.sh']],
  ['for f in tests/*.sh; do sh "./$f"; done', ['tests/a.sh', 'lib.sh', 'tests/b.sh']],
  ['cd tests && for f in b*.sh; do ./$f; done', ['tests/b.sh']],
  ['sh all.sh', ['all.sh', 'tests/a.sh', 'lib.sh', 'tests/b.sh']],
  ['bash tests/a*.sh', ['tests/a.sh', 'lib.sh']],
  ['for f in tests/*.sh; do bash -n "$f"; done', []],
  ['for f in tests/*.sh; do echo "checking $f"; bash -n "$f"; done', []],
  ['for f in tests/*.sh; do basename "$f" .sh; done; tar czf tests.tgz tests/*.sh', []],
  ['shellcheck tests/*.sh', []],
  ['for f in none/*.sh; do sh "$f"; done', []],
];

for (const [run, scripts] of GLOBS) {
  test(`a check runs what its globs match: ${run}`, (context) => {
    assert.deepEqual(namedScripts(folderWith(context, SHELL_TESTS), run), scripts);
  });
}
