import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { unmatchedWarning } from '../../../../src/drive/start/protection-warnings.ts';
import type { Contract } from '../../../../src/engine/schema/contract.ts';
import { folderWith } from '../../../support/folder.ts';

const RULES = { blockCommands: [], shellAllow: null, strict: false, protectedFiles: [], privateFiles: [] };

test('names the globs and folders that match no file now, and none that match', (t) => {
  const projectDir = folderWith(t, {
    'tests/a.test.js': '',
    'src/deep/x.lock': '',
    '.env': '',
    'dist/out.js': '',
    'node_modules/a/a.pem': '',
  });
  const env = { HOME: join(projectDir, 'home') };
  const told = (rules: Partial<Contract['guardrails']>, more: Partial<Contract> = {}): string | null =>
    unmatchedWarning({ projectDir, guardrails: { ...RULES, ...rules }, ...more }, env);
  const matching = [
    'tests/**',
    '*.lock',
    '.env*',
    'tests/',
    'dist/**',
    'policy:secret-bearing-paths',
    join(projectDir, 'src/**'),
  ];
  assert.equal(told({ protectedFiles: matching, privateFiles: ['.env'] }, { unchanged: ['tests/a.test.js'] }), null);
  assert.equal(told({}), null);
  assert.equal(
    told(
      { protectedFiles: ['test/**', '*.toml', ...matching], privateFiles: ['~/.ssh/**', '*.pem', 'keys/*.pem'] },
      { unchanged: ['tests/*.spec.js'] },
    ),
    'No file matches unchanged: tests/*.spec.js; guardrails.protected_files: test/**; ' +
      'guardrails.private_files: keys/*.pem yet. Check the spelling.',
  );
  const sandbox = {
    allowWrite: [join(projectDir, 'tests'), '/nowhere/at/all'],
    denyWrite: [],
    denyRead: [],
    network: false,
  };
  assert.equal(told({}, { sandbox }), 'No file matches sandbox.allow_write: /nowhere/at/all yet. Check the spelling.');
});

test('says nothing of globs for the whole disk, nor of a project that is too large to compare', (t) => {
  const files = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`src/${at}.js`, '']));
  const projectDir = folderWith(t, files);
  const told = (privateFiles: string[]): string | null =>
    unmatchedWarning({ projectDir, guardrails: { ...RULES, privateFiles } }, { HOME: join(projectDir, '..', 'home') });
  const globs = (count: number): string[] => Array.from({ length: count }, (_, at) => `**/secret-${at}`);
  assert.equal(told(['/**/*.key']), null);
  assert.match(told(['keys/*.pem', join(projectDir, '**/*.key')]) ?? '', /keys.*\.key/, 'control: these are searched');
  assert.equal(told(globs(1_000)), null);
  assert.match(told(globs(100)) ?? '', /secret-0, .*secret-1/, 'control: a smaller search');
});
