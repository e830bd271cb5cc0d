import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extractValidationCommands } from '../../../src/task/draft/add-validation.ts';

const section = (content: string) =>
  `# Task\n\n\`npm run no\`\n\n## Validation Commands\n\n${content}\n## Next\n\n\`npm run no\`\n`;

const CASES: readonly (readonly [string, string, readonly string[]])[] = [
  [
    'a fence',
    '```bash\nnpm test\nnpm run lint   # style\n\n# types\nnpx tsc --noEmit; echo ok\n```\n',
    ['npm test', 'npm run lint', 'npx tsc --noEmit', 'echo ok'],
  ],
  ['a fence without a language', '```\nmake check\n```\n', ['make check']],
  ['two fences', '~~~sh\na x\n~~~\ntext\n````shell\nb y\n````\n', ['a x', 'b y']],
  ['a fence of another language', '```json\n{"a": 1}\n```\n', []],
  [
    'a console transcript',
    '```console\n$ npm test\n> x@1 test\nall good\n$ npm run lint\n```\n',
    ['npm test', 'npm run lint'],
  ],
  ['a command over two lines', '```sh\nnpm test \\\n  --silent\n```\n', ['npm test \\\n  --silent']],
  ['statements that belong together', '```sh\ncd web\nnpm test\n```\n', ['cd web && npm test']],
  ['a variable for the next statement', '```sh\nCI=1\nexport CI\nnpm test\n```\n', ['CI=1 && export CI && npm test']],
  ['a heredoc', '```sh\ncat <<EOF\na\nb\nEOF\n```\n', ['cat <<EOF\na\nb\nEOF']],
  ['a compound statement', '```sh\nif true; then\n  npm test\nfi\n```\n', ['if true; then\n  npm test\nfi']],
  ['a pipeline', '```sh\nnpm test 2>&1 | tail -5 && echo done\n```\n', ['npm test 2>&1 | tail -5 && echo done']],
  ['broken shell', '```sh\nif true; then\n```\n', ['if true; then']],
  [
    'list items with inline code',
    '- [ ] `npm test` passes\n* Run `npm run a` and `npm run b`\n1. ``echo `date` ``\n',
    ['npm test', 'npm run a', 'npm run b', 'echo `date`'],
  ],
  ['a fence inside a list', '- unit tests:\n\n  ```bash\n  npm test\n  ```\n', ['npm test']],
  [
    'list items that read as commands',
    '- npm test\n- All tests must pass.\n- ./scripts/check.sh --fast\n- nothing is broken.\n',
    ['npm test', './scripts/check.sh --fast'],
  ],
  ['the same command twice', '```sh\nnpm test\n```\n- `npm test`\n', ['npm test']],
  ['prose', 'Everything must be green, see `README.md`.\n', []],
  ['a deeper heading', '### Unit\n\n- `npm test`\n', ['npm test']],
  ['nothing', '', []],
];

for (const [what, content, expected] of CASES) {
  test(`finds the commands of ${what}`, () => {
    assert.deepEqual(extractValidationCommands(section(content)), expected);
    assert.deepEqual(extractValidationCommands(section(content).replaceAll('\n', '\r\n')), expected, 'with CRLF');
  });
}

test('finds nothing to adopt without such a section', () => {
  assert.deepEqual(extractValidationCommands('# Task\n\n- `npm test`\n'), []);
  assert.deepEqual(extractValidationCommands('## Validation\n\n- `npm test`\n'), []);
});

for (const heading of [
  '# Validation Commands',
  '#### validation commands ####',
  '## **Validation Commands**:',
  '## 4. Validation Commands',
]) {
  test(`${heading} is such a heading`, () => {
    assert.deepEqual(extractValidationCommands(`${heading}\n- \`npm test\`\n`), ['npm test']);
  });
}

test('A line separator ends no line of a section, a lone carriage return does.', () => {
  assert.deepEqual(
    extractValidationCommands('## Validation Commands\r\r```sh\u2028\rnpm test\r```\r## Next\r- `x y`\r'),
    ['npm test'],
  );
  assert.deepEqual(extractValidationCommands('```\u2028\n## Validation Commands\n- `npm test`\n```\n'), []);
  assert.deepEqual(extractValidationCommands('## Validation Commands\n- `npm test` for\u2028all\n'), ['npm test']);
});
