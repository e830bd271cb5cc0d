import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countEntries, memoryText } from '../../../src/task/project-memory.ts';

const LEARNINGS = '.claude/context/memory/learnings.md';
const DECISIONS = '.claude/context/memory/decisions.md';

test('a fresh context learns where the memory is, how long it is, and where decisions go', () => {
  assert.equal(
    memoryText([
      { path: LEARNINGS, entries: 3 },
      { path: DECISIONS, entries: 1 },
    ]),
    `Earlier work left notes; read them before you begin: ${LEARNINGS} (3 entries), ${DECISIONS} (1 entry). Record decisions about the architecture in ${DECISIONS}, with the reason.`,
  );
});

test('an empty memory is not mentioned, and a project without one gets no section', () => {
  assert.equal(
    memoryText([
      { path: LEARNINGS, entries: 0 },
      { path: DECISIONS, entries: 0 },
    ]),
    `Record decisions about the architecture in ${DECISIONS}, with the reason.`,
  );
  assert.equal(memoryText([{ path: LEARNINGS, entries: 0 }]), null);
  assert.equal(memoryText([]), null);
});

test('a memory that is too long to count is still named', () => {
  assert.match(memoryText([{ path: LEARNINGS, entries: null }]) ?? '', /learnings\.md \(very long: read its end\)/);
});

test('entries are headings below the title, or else list items', () => {
  assert.equal(countEntries('# Learnings\n\nWhat finished loops taught.\n'), 0);
  assert.equal(countEntries('# Learnings\n\n- one\n  - part of it\n- two\n'), 2);
  assert.equal(countEntries('# Decisions\n\n## One\n\n- why\n- what\n- who\n\n### Two\n\ntext\n'), 2);
  assert.equal(countEntries('- see ## Two\n- one\n'), 2);
  assert.equal(countEntries('```\n- in code\n```\n> - quoted\n'), 0);
});
