import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { extraSections } from '../../../../src/drive/prompt/extra-sections.ts';
import { AT, aProject, put, start } from '../../../support/drive/drive-project.ts';

test('a fresh context is pointed to the memory of its project, a continued one is not', (t) => {
  const project = aProject(t);
  const { contract } = start(project, true).stored;
  assert.deepEqual(extraSections(project.files, contract, AT, true), []);
  put(join(project.directory, '.claude/context/memory/learnings.md'), '# Learnings\n\n- one\n- two\n');
  const [memory = ''] = extraSections(project.files, contract, AT, true);
  assert.match(memory, /learnings\.md \(2 entries\)/);
  assert.deepEqual(extraSections(project.files, contract, AT, false), []);
});

test('ignores what is not a memory file in the place of one', (t) => {
  const project = aProject(t);
  const { contract } = start(project, true).stored;
  mkdirSync(join(project.directory, '.claude/context/memory/learnings.md'), { recursive: true });
  assert.deepEqual(extraSections(project.files, contract, AT, true), []);
  put(join(project.directory, '.claude/context/memory/decisions.md'), 'x'.repeat(5 * 1024 * 1024));
  assert.match(extraSections(project.files, contract, AT, true)[0] ?? '', /read its end\)\. Record decisions/);
});
