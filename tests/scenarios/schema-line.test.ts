import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { PRESETS as ALL_PRESETS } from '../../src/cli/task/scaffold.ts';
import { splitFrontmatter } from '../../src/task/frontmatter/split-frontmatter.ts';
import { commitFolder } from '../support/git.ts';
import { DIST, type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const LINE = /^---\n# yaml-language-server: \$schema=(\S+)\n/;

/** Reads a task file as an editor does: its frontmatter is judged by the schema that it names, which must be there. */
function judged(p: Project, path: string): { schema: string; accepts: (more?: object) => boolean } {
  const text = p.read(path);
  const [, way = ''] = LINE.exec(text) ?? [];
  const schema = join(dirname(path), way);
  assert.ok(way !== '' && p.has(schema), `${path} names ${schema}\n${text}`);
  const validate = new Ajv({ strict: false }).compile(JSON.parse(p.read(schema)) as object);
  const settings = (parse(splitFrontmatter(text).frontmatter) ?? {}) as object;
  return { schema, accepts: (more = {}) => validate({ ...settings, ...more }) };
}

function assertJudged(p: Project, path: string): string {
  const { schema, accepts } = judged(p, path);
  assert.ok(accepts(), path);
  assert.equal(accepts({ max_iteration: 3 }), false, 'control: a misspelt key is refused');
  return schema;
}

const WORDS = someOf(['fix the failing tests', 'migrate to node 24', 'analyse the cache', 'add a page'], 2);
const PRESETS = someOf(ALL_PRESETS, 2);

/** Writes a task file in every way that there is, with a program. Returns their paths. */
function drafted(p: Project, run: (...words: string[]) => number | null): string[] {
  p.write('package.json', { scripts: { test: 'node --test', lint: 'eslint .' } });
  p.write('test/a.test.js', '');
  for (const [nth, words] of WORDS.entries()) assert.equal(run('draft', '--name', `deep/in/${nth}`, words), 0);
  for (const preset of PRESETS) {
    const named = preset === 'default' ? [] : ['--preset', preset];
    assert.equal(run('scaffold', ...named, `from ${preset}`), 0);
  }
  run('run', 'site');
  return [
    ...WORDS.map((_, nth) => `deep/in/${nth}/RALPH.md`),
    ...PRESETS.map((preset) => `from ${preset}/RALPH.md`),
    '.ralph/site/task.md',
  ];
}

test('a draft names a schema that is there, accepts it and refuses an unknown key: npm and plugin', (t) => {
  const p = project(t);
  const paths = drafted(p, (...words) => p.ralph(words).code);
  for (const path of paths) assert.equal(assertJudged(p, path), '.ralph/.schemas/ralph-md-frontmatter.schema.json');
  p.sh('git init -q && git add -A');
  const tracked = p.sh('git ls-files').stdout.trim().split('\n');
  assert.deepEqual(tracked.sort(), [...paths, 'package.json', 'test/a.test.js'].sort());
});

test('a draft names the schema that init has put into the project, with any program of it', (t) => {
  const p = project(t);
  p.ralph(['init']);
  const copy = '.claude/skills/ralph-loop/scripts/main.cjs';
  const paths = drafted(p, (...words) => p.sh(`node ${copy} ${words.map((word) => `'${word}'`).join(' ')}`).code);
  for (const path of paths) assert.match(assertJudged(p, path), /^\.claude\/skills\/ralph-loop\/schemas\//);
  assert.equal(p.has('.ralph/.schemas'), false);
});

test('a file without the line works as before, and the line stays through check, a new check and a run', (t) => {
  const p = project(t);
  p.write('package.json', { scripts: { test: 'exit 0' } });
  p.write('agent.sh', '#!/bin/sh\ncat > seen.txt\necho "<promise>DONE</promise>"\n', 0o755);
  p.write('hand/RALPH.md', '---\nmax_iterations: 1\ncompletion_promise: DONE\n---\nWork.\n');
  assert.equal(p.ralph(['run', 'hand', '--agent', './agent.sh']).code, 0);
  assert.deepEqual([p.read('hand/RALPH.md').includes('yaml-language-server'), p.has('.ralph')], [false, false]);
  assert.equal(p.ralph(['run', 'add a page', '--yes', '--agent', './agent.sh']).code, 0);
  const path = '.ralph/add-page/RALPH.md';
  assert.match(p.read(path), LINE);
  assert.doesNotMatch(p.read('seen.txt'), /yaml-language-server|ralph-loop: \{/, 'the agent reads the task alone');
  assert.equal(p.ralph(['check', path]).code, 0);
  assert.equal(p.ralph(['run', 'add-page', '--fresh', '--agent', './agent.sh']).code, 0, 'no digest has changed');
  assertJudged(p, path);
});

test('a draft that is not started leaves no schema, unless another file names it', (t) => {
  const p = project(t);
  p.write('package.json', { scripts: { test: 'exit 0' } });
  p.write('client.sh', '#!/bin/sh\necho "2.1.330 (Claude Code)"\n', 0o755);
  commitFolder(p.dir);
  const show = () => p.ralph(['run', 'add a page', '--dry-run'], { RALPH_CLAUDE: join(p.dir, 'client.sh') });
  assert.equal(show().code, 0);
  assert.equal(p.has('.ralph'), false);
  p.ralph(['scaffold', 'docs']);
  assert.equal(show().code, 0);
  assertJudged(p, 'docs/RALPH.md');
  rmSync(join(p.dir, '.ralph/.schemas/ralph-md-frontmatter.schema.json'));
  p.ralph(['scaffold', 'more']);
  assertJudged(p, 'docs/RALPH.md');
});

test('the published schemas accept every task file that a page shows, and refuse an unknown key', () => {
  const pages = ['README.md', 'SKILL.md', 'docs', 'references', 'templates', 'examples'].flatMap((path) =>
    path.endsWith('.md')
      ? [path]
      : readdirSync(join(root, path), { recursive: true, encoding: 'utf8' })
          .filter((name) => name.endsWith('.md') && !name.startsWith('decisions'))
          .map((name) => join(path, name)),
  );
  const schema = join(DIST, 'schemas/prompt-frontmatter.schema.json');
  assert.ok(existsSync(schema));
  const accepts = new Ajv({ strict: false }).compile(JSON.parse(readFileSync(schema, 'utf8')) as object);
  let seen = 0;
  for (const page of pages) {
    const text = readFileSync(join(root, page), 'utf8');
    const fenced = [...text.matchAll(/^```(?:yaml|markdown)[^\n]*\n(---\n.*?)^```$/gms)].map(([, code = '']) => code);
    for (const file of [...fenced, ...(/templates.*(?:RALPH|PROMPT|TDD|task)\.md$/.test(page) ? [text] : [])]) {
      const settings = (parse(splitFrontmatter(file).frontmatter) ?? {}) as object;
      assert.ok(accepts(settings), `${page}: ${JSON.stringify(accepts.errors)}\n${file}`);
      assert.equal(accepts({ ...settings, no_such_key: 1 }), false);
      seen += 1;
    }
  }
  assert.ok(seen > 15, String(seen));
});

for (const [inTheWay, script] of someOf(
  [
    ['a link to elsewhere', 'mkdir ../elsewhere && ln -s ../elsewhere .ralph'],
    ['a file', 'touch .ralph'],
    ['a file in the folder', 'mkdir .ralph && touch .ralph/.schemas'],
  ],
  3,
  2,
))
  test(`a task file names no schema where ${inTheWay} leaves it no place`, (t) => {
    const p = project(t);
    p.sh(script ?? '');
    for (const words of [
      ['scaffold', 'docs'],
      ['draft', '--name', 'page', 'add a page'],
    ])
      assert.equal(p.ralph(words).code, 0, p.ralph(words).stderr);
    assert.doesNotMatch(p.read('docs/RALPH.md') + p.read('page/RALPH.md'), /yaml-language-server/);
    assert.equal(p.ralph(['scaffold', 'docs']).code, 1, 'control: the file is there now');
  });
