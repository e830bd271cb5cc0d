import assert from 'node:assert/strict';
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import { createGuardProject, HOOK, MAIN, STATE } from './guard-project.ts';

const project = createGuardProject();
after(() => rmSync(project.root, { recursive: true, force: true }));
const at = (path: string): string => join(project.dir, path);
const decide = async (tool: string, input: unknown): Promise<string> =>
  (await evaluateToolCall({ tool, input, cwd: project.dir }, project.rules)).decision;

describe('file tools', () => {
  for (const tool of ['Write', 'Edit', 'MultiEdit']) {
    it(`${tool} may not change the loop's own files`, async () => {
      for (const file of [STATE, HOOK, MAIN, '.claude/settings.json', '.claude/skills/ralph-loop/new.cjs']) {
        assert.equal(await decide(tool, { file_path: at(file) }), 'deny', file);
        assert.equal(await decide(tool, { file_path: file }), 'deny', file);
        assert.equal(await decide(tool, { file_path: at(`src/../${file}`) }), 'deny', file);
      }
      assert.equal(await decide(tool, { file_path: '~/.claude/settings.json' }), 'deny');
      assert.equal(await decide(tool, { file_path: at('.claude/context/runtime/ralph-state.other.json') }), 'deny');
    });
    it(`${tool} may change all other files`, async () => {
      for (const file of [
        'src/index.ts',
        '.claude/ralph/PROMPT.md',
        '.vscode/settings.json',
        'src/ralph-state.ts',
        'new/deep/x',
      ]) {
        assert.equal(await decide(tool, { file_path: at(file) }), 'allow', file);
      }
    });
  }
  it('in a sandboxed loop may write only to the project and allowed places, links included', async () => {
    const outside = join(project.root, 'outside');
    mkdirSync(outside);
    symlinkSync(outside, at('leads-out'));
    const rules = { ...project.rules, writable: [project.dir, join(project.root, 'allowed')] };
    const inSandbox = async (tool: string, path: string): Promise<string> =>
      (await evaluateToolCall({ tool, input: { file_path: path }, cwd: project.dir }, rules)).decision;
    for (const path of [join(outside, 'x'), '../outside/x', '/etc/x', `${project.dir}2/x`, at('leads-out/x')]) {
      assert.equal(await inSandbox('Write', path), 'deny', path);
      assert.equal(await inSandbox('Read', path), 'allow', path);
      assert.equal(await decide('Write', { file_path: path }), 'allow', `without a sandbox: ${path}`);
    }
    for (const path of ['x', at('new/deep/x'), join(project.root, 'allowed', 'x')]) {
      assert.equal(await inSandbox('Edit', path), 'allow', path);
    }
  });
  it('in a sandboxed loop may write to no file of git, also of a repository within', async () => {
    const rules = { ...project.rules, writable: [project.dir] };
    const write = (path: string) => ({ tool: 'Write', input: { file_path: path }, cwd: project.dir });
    for (const path of ['.git/hooks/pre-commit', at('.git/config'), 'vendor/tool/.git/config', 'vendor/tool/.git']) {
      assert.equal((await evaluateToolCall(write(path), rules)).decision, 'deny', path);
    }
    for (const path of ['.gitignore', 'docs/.github/x', 'a.git/x']) {
      assert.equal((await evaluateToolCall(write(path), rules)).decision, 'allow', path);
    }
    assert.equal(await decide('Write', { file_path: 'vendor/tool/.git/config' }), 'allow', 'without a sandbox');
  });
  it('NotebookEdit is judged by its notebook_path', async () => {
    assert.equal(await decide('NotebookEdit', { notebook_path: at(STATE) }), 'deny');
    assert.equal(await decide('NotebookEdit', { notebook_path: at('a.ipynb') }), 'allow');
  });
  it('may read everything', async () => {
    for (const tool of ['Read', 'Grep', 'Glob'])
      assert.equal(await decide(tool, { file_path: at(STATE), path: at(STATE) }), 'allow');
  });
  it('strange input is allowed, for the client to refuse', async () => {
    for (const input of [
      null,
      undefined,
      7,
      'x',
      [],
      {},
      { file_path: 7 },
      { file_path: null },
      { file_path: '' },
      { file_path: 'a\0b' },
    ]) {
      assert.equal(await decide('Write', input), 'allow');
      assert.equal(await decide('Bash', input), 'allow');
    }
  });
  it('the message names the rule, the file and a way out', async () => {
    const verdict = await evaluateToolCall(
      { tool: 'Write', input: { file_path: at('.claude/settings.json') }, cwd: project.dir },
      project.rules,
    );
    assert.equal(verdict.decision, 'deny');
    if (verdict.decision === 'deny')
      assert.match(verdict.message, /rule own-files.*Write.*\.claude\/settings\.json.*status/s);
  });
});

describe('tools of MCP servers', () => {
  it('that write are judged by every key that names a path', async () => {
    assert.equal(await decide('mcp__fs__write_file', { path: at(STATE) }), 'deny');
    assert.equal(await decide('mcp__fs__edit', { target_file: STATE }), 'deny');
    assert.equal(await decide('mcp__fs__save', { uri: `file://${at(STATE)}` }), 'deny');
    assert.equal(await decide('mcp__fs__write_files', { files: [{ path: at('a') }, { path: at(STATE) }] }), 'deny');
    assert.equal(await decide('mcp__fs__move_file', { source: at('.claude'), destination: '/tmp/x' }), 'deny');
    const within = (levels: number, input: object): object => (levels === 0 ? input : within(levels - 1, { a: input }));
    assert.equal(await decide('mcp__fs__write_file', within(500, { path: at(STATE) })), 'deny');
    assert.equal(await decide('mcp__sh__run', within(500, { command: `rm ${at(STATE)}` })), 'deny');
    assert.equal(await decide('mcp__fs__write_file', within(500, { path: at('src/x.ts') })), 'allow');
    assert.equal(await decide('mcp__fs__delete_directory', { path: at('.claude/context') }), 'deny');
    assert.equal(await decide('mcp__fs__write_file', { path: at('src/x.ts') }), 'allow');
    assert.equal(await decide('mcp__web__save', { uri: 'https://example.com/.claude/settings.json' }), 'allow');
  });
  it('that read are not', async () => {
    assert.equal(await decide('mcp__fs__read_file', { path: at(STATE) }), 'allow');
    assert.equal(await decide('mcp__fs__list_directory', { path: at('.claude') }), 'allow');
  });
  it('that run commands count as shells', async () => {
    assert.equal(await decide('mcp__shell__run', { command: `rm ${STATE}` }), 'deny');
    assert.equal(await decide('mcp__shell__run', { command: 'npm test' }), 'allow');
  });
});

describe('PowerShell', () => {
  const run = (command: string) => decide('PowerShell', { command });
  it('may not write the own files', async () => {
    for (const command of [
      "Set-Content .claude\\settings.json '{}'",
      'Remove-Item -Force .claude/context/runtime/ralph-state.json',
      'Remo`ve-Item ralph-state.json',
      "'{}' > .claude\\context\\runtime\\ralph-state.json",
      'del .claude\\settings.local.json',
      "[IO.File]::WriteAllText('.claude/settings.json','{}')",
      'Copy-Item x .claude\\hooks\\ralph-stop-hook.cjs',
    ]) {
      assert.equal(await run(command), 'deny', command);
    }
  });
  it('may not steer the loop', async () => {
    assert.equal(await run(`node ${MAIN.replaceAll('/', '\\')} stop`), 'deny');
    assert.equal(await run(`node ${MAIN} status; node ${MAIN} stop`), 'deny');
    assert.equal(await run(`& .claude\\ralph\\ralph-audit.sh`), 'deny');
    assert.equal(await run(`Copy-Item ${MAIN} m.cjs`), 'deny');
    for (const command of [
      'ralph-loop cancel',
      '& ralph-loop accept',
      'cd x; npx ralph-loop stop',
      'bash -c "ralph-loop undo"',
    ])
      assert.equal(await run(command), 'deny', command);
    assert.equal(await run('ralph-loop status; cd ralph-loop; npm test'), 'allow');
  });
  it('may do anything else', async () => {
    for (const command of [
      'npm test',
      `node ${MAIN} status`,
      'Get-Content .claude/settings.json',
      'Remove-Item -Recurse dist',
      'Set-Content .vscode/settings.json x',
    ]) {
      assert.equal(await run(command), 'allow', command);
    }
  });
});
