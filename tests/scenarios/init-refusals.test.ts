import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

const SETTINGS = '.claude/settings.json';

const BROKEN: Record<string, [content: string, message: RegExp]> = {
  'a comma too many': ['{\n  "a": 1,\n}\n', /settings\.json is not valid JSON: .*line 3, column 1/],
  'a comment': ['{\n  // mine\n  "a": 1\n}\n', /a comment, which makes its client ignore the whole file, at line 2/],
  'half a file': ['{\n  "a": ', /line 2, column 8/],
  'a list': ['[]', /no JSON object/],
  'hooks that are a list': ['{"hooks": []}', /"hooks" should be an object, but is array/],
  'an event that is no list': ['{"hooks": {"Stop": {}}}', /"hooks\.Stop" should be a list, but is object/],
};

for (const [what, [content, message]] of someOf(Object.entries(BROKEN), 3)) {
  test(`settings with ${what} are reported with their place, and nothing is written`, (t) => {
    const p = project(t);
    p.write(SETTINGS, content);
    const tree = p.tree();
    const { code, stderr, stdout } = p.ralph(['init']);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, message);
    assert.deepEqual(p.tree(), tree);
  });
}

for (const link of someOf(['.claude', '.claude/settings.json', '.claude/hooks'], 2)) {
  test(`a ${link} that leads out of the project is refused, and nothing is written there`, (t) => {
    const p = project(t);
    const outside = join(p.home, 'elsewhere');
    if (link === '.claude/settings.json') p.write('../home/elsewhere', '{}\n');
    else mkdirSync(outside);
    if (link !== '.claude') mkdirSync(join(p.dir, '.claude'));
    symlinkSync(outside, join(p.dir, link));
    const { code, stderr } = p.ralph(['init']);
    assert.equal(code, 1);
    assert.match(stderr, /leads out of the project through a symbolic link/);
    assert.ok(!existsSync(join(outside, 'hooks')));
    if (link === '.claude/settings.json') assert.equal(readFileSync(outside, 'utf8'), '{}\n');
  });
}

test('a .claude/settings.json that is a link inside the project stays a link', (t) => {
  const p = project(t);
  p.write('shared.json', '{}\n');
  mkdirSync(join(p.dir, '.claude'));
  symlinkSync('../shared.json', join(p.dir, SETTINGS));
  assert.equal(p.ralph(['init']).code, 0);
  assert.match(p.read('shared.json'), /RALPH_ACTIVE/);
  p.ralph(['uninit']);
  assert.equal(p.read('shared.json'), '{}\n');
});

test('the home directory is not a project: its settings would apply to all of them', (t) => {
  const p = project(t);
  p.write('../home/.claude/settings.json', '{}\n');
  for (const env of [{}, { CLAUDE_CONFIG_DIR: join(p.home, '.claude') }]) {
    const { code, stderr } = p.ralph(['init', '--project', p.home], env);
    assert.equal(code, 1);
    assert.match(stderr, /your own Claude Code settings for all projects/);
    assert.equal(p.read('../home/.claude/settings.json'), '{}\n');
  }
});
