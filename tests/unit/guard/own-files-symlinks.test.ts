import assert from 'node:assert/strict';
import { linkSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import type { GuardRules } from '../../../src/guard/guard.ts';
import { createGuardProject, HOOK, STATE } from './guard-project.ts';

const project = createGuardProject();
const at = (path: string): string => join(project.dir, path);
after(() => rmSync(project.root, { recursive: true, force: true }));
before(() => {
  symlinkSync(at(STATE), at('state-link.json'));
  symlinkSync(at('.claude/context/runtime'), at('runtime-link'));
  symlinkSync('.claude', at('dotclaude'));
  symlinkSync(project.dir, join(project.root, 'project-link'));
  symlinkSync('/nowhere', at('dangling'));
  symlinkSync('loop-b', at('loop-a'));
  symlinkSync('loop-a', at('loop-b'));
  mkdirSync(at('node_modules/.pnpm'), { recursive: true });
  symlinkSync(project.dir, at('node_modules/self'));
  linkSync(at('.claude/settings.json'), at('hard.json'));
});

const decide = async (tool: string, input: unknown, rules: GuardRules = project.rules, cwd = project.dir) =>
  (await evaluateToolCall({ tool, input, cwd }, rules)).decision;
const bash = (command: string, rules?: GuardRules) => decide('Bash', { command }, rules);

describe('symlinks', () => {
  it('a write through a link to a protected file counts', async () => {
    assert.equal(await decide('Write', { file_path: at('state-link.json') }), 'deny');
    assert.equal(await bash('echo x > state-link.json'), 'deny');
  });
  it('a write through a link to its directory counts', async () => {
    assert.equal(await decide('Edit', { file_path: at('runtime-link/ralph-state.json') }), 'deny');
    assert.equal(await bash('cd runtime-link && rm ralph-state.json'), 'deny');
    assert.equal(await bash('rm runtime-link/ralph-state.json'), 'deny');
    assert.equal(await bash('rm -rf dotclaude/context'), 'deny');
    assert.equal(await bash('rm runtime-link/*.json'), 'deny');
    assert.equal(await bash('rm *-link/ralph-*'), 'deny');
  });
  it('".." after a link is resolved as the kernel does', async () => {
    assert.equal(await bash('echo x > runtime-link/../../settings.json'), 'deny');
    assert.equal(await decide('Write', { file_path: `${project.dir}/runtime-link/../../settings.json` }), 'deny');
  });
  it('the project under another name is the same project', async () => {
    assert.equal(await decide('Write', { file_path: join(project.root, 'project-link', STATE) }), 'deny');
    assert.equal(await bash(`rm -rf ${project.root}/project-link/.claude`), 'deny');
  });
  it('removing a link does not touch its target', async () => {
    assert.equal(await bash('rm -rf node_modules/self'), 'allow');
    assert.equal(await bash('rm -rf node_modules'), 'allow');
    assert.equal(await bash('rm dotclaude'), 'allow');
  });
  it('dangling and circular links are harmless', async () => {
    assert.equal(await bash('echo x > dangling/a; echo x > loop-a/b; rm loop-a'), 'allow');
    assert.equal(await decide('Write', { file_path: at('loop-a/x') }), 'allow');
  });
  it('another name of the same file (hard link) counts', async () => {
    assert.equal(await bash('echo {} > hard.json'), 'deny');
    assert.equal(await decide('Write', { file_path: at('hard.json') }), 'deny');
  });
  it('protected paths given through a link protect the real file', async () => {
    const rules = {
      ...project.rules,
      ownFiles: [join(project.root, 'project-link', HOOK)],
      ownGlobs: [],
      controlProgram: [],
    };
    assert.equal(await bash(`rm ${HOOK}`, rules), 'deny');
    assert.equal(await bash('rm README.md', rules), 'allow');
  });
});

describe('file systems that fold case', () => {
  const folded = { ...project.rules, caseInsensitive: true };
  it('protect a file under every spelling', async () => {
    assert.equal(await bash('rm .CLAUDE/Settings.JSON', folded), 'deny');
    assert.equal(await bash('rm -rf .Claude/CONTEXT', folded), 'deny');
    assert.equal(await bash('rm .CLAUDE/set*.json', folded), 'deny');
    assert.equal(await decide('Write', { file_path: at('.claude/SETTINGS.json') }, folded), 'deny');
  });
  it('other file systems do not', async () => {
    assert.equal(await bash('rm .CLAUDE/Settings.JSON'), 'allow');
  });
});
