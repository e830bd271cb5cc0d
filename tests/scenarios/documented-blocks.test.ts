import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { commitFolder } from '../support/git.ts';
import { project } from '../support/project.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const PAGES = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

interface Block {
  /** `run`, or `file=NAME`. */
  readonly mark: string;
  readonly text: string;
}

/** Blocks of a page that are marked: files that the page's commands need, and commands to run. */
function blocksOf(page: string): Block[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^```\w+ (run|file=\S+)\n(.*?)^```$/gms)].map(([, mark = '', code = '']) => ({
    mark,
    text: code,
  }));
}

/** The words of a documented command line after the program's name. */
function wordsOf(line: string): string[] {
  return (line.match(/"[^"]*"|\S+/g) ?? []).slice(1).map((word) => word.replace(/^"(.*)"$/, '$1'));
}

const marked = PAGES.filter((page) => blocksOf(page).length > 0);

test('some pages have blocks that are run', () => {
  assert.ok(marked.includes(join('docs', 'tasks.md')), marked.join(' '));
});

for (const page of marked) {
  test(`the blocks of ${page} that are marked to run succeed in a new project`, (t) => {
    const p = project(t);
    p.write('package.json', { name: 'sample', scripts: { test: 'node --test' } });
    commitFolder(p.dir, 'work');
    let commands = 0;
    for (const { mark, text } of blocksOf(page)) {
      if (mark !== 'run') {
        p.write(mark.replace('file=', ''), text);
        continue;
      }
      for (const line of text.trim().split('\n')) {
        assert.match(line, /^ralph-loop /);
        const { code, stdout, stderr } = p.ralph(wordsOf(line));
        assert.equal(code, 0, `${line}\n${stdout}${stderr}`);
        commands += 1;
      }
    }
    assert.ok(commands > 0, `${page} has no command to run`);
  });
}
