import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { readFindings } from '../../../src/engine/findings/read-findings.ts';
import { parseSigns, signBehind } from '../../../src/engine/prompt/signs.ts';
import { checkTaskFile } from '../../../src/task/check/check-task-file.ts';
import { addValidation, extractValidationCommands } from '../../../src/task/draft/add-validation.ts';
import { splitFrontmatter } from '../../../src/task/frontmatter/split-frontmatter.ts';
import { pinsOf } from '../../../src/task/pinned-scripts/named-scripts.ts';
import { RalphError } from '../../../src/text/message.ts';
import fc, { runs } from '../../support/property.ts';
import { isVacuousGreen } from '../support/summary-of.ts';

/** Pieces that task files are made of, so that a random text gets past the first line. */
const PIECES = [
  '---',
  '---\n',
  '\n',
  '\r\n',
  '\ufeff',
  ' ',
  '  ',
  '\t',
  ': ',
  '- ',
  '[',
  ']',
  '{',
  '}',
  ',',
  '"',
  "'",
  '|\n',
  '>',
  '&a ',
  '*a',
  '!t ',
  '# ',
  '## Validation Commands\n',
  '```',
  '```sh\n',
  '`npm test`',
  '<!--',
  '-->',
  'validation',
  'validation:\n',
  '- run: x\n',
  'name',
  'timeout',
  'idle:',
  'delay: ',
  '30s',
  'max',
  'breaker',
  'findings',
  '0',
  '-1',
  'true',
  'null',
  '~',
  'x',
  '$(',
  ')',
  '<<EOF\n',
  'EOF\n',
  '\\',
  ';',
  '&&',
  'npm run x',
  '### FINDING-1: ',
  'Status: OPEN',
  '### Sign: ',
  'ok 1',
  '# tests 0',
  '\u0000',
  '\ud800',
  '🙂',
];
const text = fc
  .array(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...PIECES) }, fc.string({ maxLength: 5 })), { maxLength: 40 })
  .map((parts) => parts.join(''));
const taskText = fc.oneof(
  text,
  text.map((inner) => `---\n${inner}\n---\n# Task\n`),
  fc.tuple(text, text).map(([a, b]) => `---\n${a}\n---\n## Validation Commands\n${b}`),
);

test('the parts of a split text can be joined again', () => {
  fc.assert(
    fc.property(taskText, (whole) => {
      const { frontmatter, frontmatterLine, body, bodyLine, problem } = splitFrontmatter(whole);
      assert.ok(whole.endsWith(body));
      if (frontmatterLine !== null && problem === undefined) {
        const head = whole.slice(0, whole.length - body.length);
        assert.ok(head.includes(frontmatter));
        assert.equal(
          head.split('\n').length - (head.endsWith('\n') ? 0 : 1),
          head.endsWith('\n') ? bodyLine : bodyLine - 1,
        );
      } else assert.equal(frontmatter, '');
    }),
    { numRuns: runs(1000) },
  );
});

test('checks any text without throwing, with printable problems inside the file', () => {
  fc.assert(
    fc.property(taskText, fc.constantFrom('PROMPT.md', 'RALPH.md', 'task.md'), (whole, path) => {
      const { frontmatter, problems } = checkTaskFile(path, whole);
      JSON.stringify(problems);
      assert.equal(
        frontmatter === null,
        // What is wrong with the body leaves the frontmatter as it is.
        problems.some(
          ({ severity, rule }) => severity === 'error' && !['empty-body', 'unfilled', 'unread-box'].includes(rule),
        ),
      );
      const lines = whole.split('\n').length;
      for (const { line, column, message } of problems) {
        assert.ok(line !== null && line >= 1 && line <= lines, `line ${line} of ${lines}: ${message}`);
        assert.ok(column !== null && column >= 1);
      }
    }),
    { numRuns: runs(1000) },
  );
});

test('adds validation commands to any file, or refuses it', () => {
  fc.assert(
    fc.property(
      taskText,
      fc.array(
        text.filter((command) => command.trim() !== '' && !/[\ud800-\udfff\0]/.test(command)),
        { minLength: 1, maxLength: 3 },
      ),
      (whole, commands) => {
        let after: string;
        try {
          after = addValidation(whole, commands);
        } catch (error) {
          assert.ok(error instanceof RalphError, String(error));
          return;
        }
        assert.equal(splitFrontmatter(after).body, splitFrontmatter(whole).body);
        assert.equal(addValidation(after, commands), after, 'once is enough');
      },
    ),
    { numRuns: runs(1000) },
  );
});

test('reads anything that the agent writes without throwing', () => {
  fc.assert(
    fc.property(text, (whole) => {
      extractValidationCommands(`## Validation Commands\n${whole}`);
      readFindings(whole);
      parseSigns(whole);
      isVacuousGreen(whole);
      pinsOf(tmpdir(), whole);
      const sign = { name: whole, trigger: whole, instruction: whole, addedAfter: whole };
      signBehind(whole, sign);
      const named = { name: 'A name', trigger: 'x', instruction: 'y', addedAfter: 'z' };
      assert.equal(signBehind(whole + signBehind(whole, named), named), '');
    }),
    { numRuns: runs(700) },
  );
});
