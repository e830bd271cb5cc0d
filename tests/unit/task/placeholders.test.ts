import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BodyValues } from '../../../src/task/frontmatter/placeholders.ts';
import { bodyPlaceholders, renderBody, runOfIteration } from '../../../src/task/frontmatter/placeholders.ts';
import fc, { runs } from '../../support/property.ts';

const VALUES: BodyValues = {
  commands: { tests: '2 failed', 'type-check': 'ok' },
  args: { owner: 'Ada', empty: '' },
  ralph: { iteration: 3, name: 'my-task', maxIterations: 20 },
};
const rendered = (body: string, values = VALUES) => renderBody(body, values);

test('replaces every placeholder, with any white space', () => {
  const body = '{{ commands.tests }}|{{commands.type-check}}|{{\targs.owner\n}}|{{ args.empty }}|';
  assert.equal(rendered(body), '2 failed|ok|Ada||');
  const own = '{{ ralph.iteration }} of {{ ralph.max_iterations }} in {{ ralph.name }}';
  assert.equal(rendered(own), '3 of 20 in my-task');
});

test('an undefined command is empty, and a missing argument stays as it is', () => {
  assert.equal(rendered('[{{ commands.none }}] {{ args.none }}'), '[] {{ args.none }}');
});

test('a name that every JavaScript object has is not a placeholder', () => {
  assert.equal(rendered('[{{ commands.constructor }}] {{ args.toString }}'), '[] {{ args.toString }}');
});

test('leaves anything but its own placeholders as it is', () => {
  const body =
    '{{ commands.* }} {{ x }} {{ site.title }} {{commands.}} {{ args.a.b }} {{ ralph.mood }} { { args.owner } }';
  assert.equal(rendered(body), body);
});

test('does not expand the output of a command again, not even across its edge', () => {
  const commands = { tests: '{{ args.owner }} <!-- kept --> {{ commands.tests }} {{', half: '{{ args.' };
  assert.equal(
    rendered('{{ commands.tests }} {{ commands.half }}owner }}', { ...VALUES, commands }),
    '{{ args.owner }} <!-- kept --> {{ commands.tests }} {{ {{ args.owner }}',
  );
});

test('leaves out comments of the body with the lines that contain nothing else', () => {
  assert.equal(rendered('<!-- a -->\n# Task\n<!-- b\n{{ args.owner }}\n-->\nDo it<!-- c -->.\n'), '# Task\nDo it.\n');
  assert.equal(rendered('a\r\n  <!-- x -->  \r\nb\r\n'), 'a\r\nb\r\n');
  assert.equal(rendered('a <!-- x --> <!-- y --> b'), 'a   b');
  assert.equal(rendered('a\n<!-- x -->'), 'a\n');
});

test('keeps a comment in a fence or in inline code as an example', () => {
  const body = '```html\n<!-- shown -->\n{{ args.owner }}\n```\nWrite `<!-- x -->` and ``<!-- ` -->``.\n';
  assert.equal(rendered(body), body.replace('{{ args.owner }}', 'Ada'));
  assert.equal(rendered('a ` b <!-- x --> c'), 'a ` b  c');
});

test('a fence within a comment opens nothing', () => {
  assert.equal(rendered('<!--\n```\n-->\na <!-- b --> c\n'), 'a  c\n');
});

test('an unclosed comment hides nothing', () => {
  const body = '# Task\n<!-- oh\nAll of it.\n';
  assert.equal(rendered(body), body);
  assert.equal(rendered('--> a <!-- b'), '--> a <!-- b');
});

test('finds placeholders in the whole body but not in comments', () => {
  const body = '<!-- {{ args.a }} -->\n{{ args.b }} {{ commands.c }}';
  assert.deepEqual(
    bodyPlaceholders(body).map(({ kind, name, start, end }) => [kind, name, body.slice(start, end)]),
    [
      ['args', 'b', '{{ args.b }}'],
      ['commands', 'c', '{{ commands.c }}'],
    ],
  );
});

test('fills in the iteration of a command when it runs', () => {
  assert.equal(runOfIteration('echo {{ralph.iteration}} {{ ralph.name }}', 7), 'echo 7 {{ ralph.name }}');
});

test('renders a body without comments and placeholders unchanged, and any body without throwing', () => {
  const pieces = [
    '<!--',
    '-->',
    '`',
    '``',
    '```',
    '```\n',
    '~~~\n',
    '\n',
    '\r\n',
    ' ',
    'a',
    '{{',
    '}}',
    ' args.owner ',
    '{{ commands.tests }}',
  ];
  const body = fc.array(fc.constantFrom(...pieces), { maxLength: 30 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(body, (text) => {
      const out = rendered(text);
      if (!text.includes('<!--') && !text.includes('{{')) assert.equal(out, text);
      for (const { start, end } of bodyPlaceholders(text)) assert.match(text.slice(start, end), /^\{\{.*\}\}$/s);
    }),
    { numRuns: runs(3000) },
  );
});
