import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { checkTaskFile } from '../../../src/task/check/check-task-file.ts';
import { splitFrontmatter } from '../../../src/task/frontmatter/split-frontmatter.ts';
import { resolvePolicy } from '../../../src/task/settings/resolve-policy.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** The fenced blocks of a Markdown text, with the heading that each stands under. */
function blocks(text: string, language: string): { heading: string; line: number; code: string }[] {
  const found = [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))];
  return found.map(({ 1: code = '', index }) => {
    const before = text.slice(0, index);
    return { code, line: before.split('\n').length, heading: before.match(/^## .*$/gm)?.at(-1) ?? '' };
  });
}

const PATTERNS = 'references/prompt-patterns.md';
const COOKBOOK = 'references/configuration-cookbook.md';

for (const { heading, line, code } of blocks(read(PATTERNS), 'markdown')) {
  test(`the task file of prompt-patterns.md, line ${line} (${heading.slice(3)}), has no problems`, () => {
    assert.deepEqual(checkTaskFile('x/RALPH.md', code).problems, []);
    assert.match(code, /\{\{ ralph\.name \}\}/);
    assert.match(code, /<promise>DONE<\/promise>/);
  });
}

for (const { heading, line, code } of blocks(read(COOKBOOK), 'yaml')) {
  test(`the recipe of configuration-cookbook.md, line ${line} (${heading.slice(3)}), has no problems`, () => {
    const { args = [], commands = [] } = parse(code) as { args?: string[]; commands?: { name: string }[] };
    const shown = [...args.map((name) => `args.${name}`), ...commands.map(({ name }) => `commands.${name}`)];
    const body = shown.map((name) => `{{ ${name} }}`).join(' ');
    assert.deepEqual(checkTaskFile('x/RALPH.md', `---\n${code}---\n\nDo it. ${body}\n`).problems, []);
  });
}

test('the checklist and the settings of the cookbook have no problems', () => {
  const [list, ...lists] = blocks(read(COOKBOOK), 'markdown');
  const [config, ...configs] = blocks(read(COOKBOOK), 'json');
  assert.deepEqual([lists, configs], [[], []]);
  assert.deepEqual(checkTaskFile('.ralph/site/task.md', list?.code ?? '').problems, []);
  const resolved = resolvePolicy({ kind: 'checklist', configs: { 'loop config': JSON.parse(config?.code ?? '') } });
  assert.deepEqual(resolved.problems, []);
  assert.ok(resolved.ok && resolved.policy.maxIterations === 20 && resolved.settings.task?.reflectEvery === 5);
});

test('each of the five purposes has a pattern and a recipe, and no block is skipped', () => {
  assert.equal(blocks(read(PATTERNS), 'markdown').length, 5);
  assert.ok(blocks(read(COOKBOOK), 'yaml').length > 15);
  for (const path of [PATTERNS, COOKBOOK]) {
    for (const purpose of ['self-healing', 'migration', 'research', 'security', 'evidence-driven']) {
      assert.match(read(path), new RegExp(`^(## )?${purpose}: `, 'im'), `${path}: ${purpose}`);
    }
    assert.equal(read(path).match(/^```(?!yaml$|json$|markdown$|$)/gm), null, path);
  }
});

test('examples write a check under validation, except a script of the task folder', () => {
  const drafted = [...blocks(read(PATTERNS), 'markdown'), ...blocks(read(COOKBOOK), 'yaml')].map(({ code }) => code);
  const asked = drafted.flatMap((code) => code.match(/^ +run: .*(?:\n .*)*?\n +acceptance: true$/gm) ?? []);
  assert.ok(asked.length > 0 && asked.every((command) => command.trim().startsWith('run: ./')), asked.join('\n'));
  const pages = ['SKILL.md', 'README.md', 'skills/ralph-draft/SKILL.md', 'references/task-files.md', 'docs/guide.md'];
  for (const page of pages) assert.doesNotMatch(read(page), /acceptance: true/, page);
});

test('control: detects a recipe with a misspelt key', () => {
  assert.notDeepEqual(checkTaskFile('x/RALPH.md', '---\nmax_iteration: 3\n---\n\nDo it.\n').problems, []);
});

for (const skill of ['skills/ralph-draft/SKILL.md', 'SKILL.md']) {
  test(`${skill} has the name and description that Agent Skills require, and its references exist`, () => {
    const { frontmatter, body } = splitFrontmatter(read(skill));
    const { name, description, ...others } = parse(frontmatter) as Record<string, string>;
    assert.equal(name, skill === 'SKILL.md' ? 'ralph-loop' : 'ralph-draft');
    assert.match(name ?? '', /^[a-z0-9]+(-[a-z0-9]+)*$/);
    assert.ok((description ?? '').length > 50 && (description ?? '').length <= 1024);
    assert.doesNotMatch(description ?? '', /[<>]/);
    for (const key of Object.keys(others)) assert.ok(['license', 'compatibility', 'metadata'].includes(key), key);
    assert.ok(body.split('\n').length < 500);
    const named = [...body.matchAll(/`(references\/[\w-]+\.md)`/g)].map(([, path = '']) => path);
    const own = ['plans', 'router-mode', 'task-files', 'test-first'].map((name) => `references/${name}.md`);
    assert.deepEqual([...new Set(named)].sort(), skill === 'SKILL.md' ? own : [COOKBOOK, PATTERNS]);
    if (skill === 'SKILL.md') assert.ok(read(skill).length <= 8_000, `${read(skill).length} characters`);
    for (const path of named) assert.ok(existsSync(join(root, path)), path);
  });
}
