import assert from 'node:assert/strict';
import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import type { TaskScope } from '../../../src/guard/guard.ts';
import { createGuardProject, HOOK, MAIN, STATE } from './guard-project.ts';
import { NO_RULES } from './support/corpus-project.ts';

const project = createGuardProject();
after(() => rmSync(project.root, { recursive: true, force: true }));
symlinkSync(join(project.dir, STATE), join(project.dir, 'linked.json'));
const at = (path: string): string => join(project.dir, path);

type Call = readonly [tool: string, input: unknown];

const guardrails = {
  ...NO_RULES,
  blockCommands: [{ command: 'git', args: ['push'], reason: null }],
  protectedFiles: ['deploy/**'],
  privateFiles: ['.env*'],
};
const decide = async ([tool, input]: Call, scope: TaskScope | null = null): Promise<string> =>
  (await evaluateToolCall({ tool, input, cwd: project.dir }, { ...project.rules, guardrails, scope })).decision;

const DENIED: readonly Call[] = [
  ['Monitor', { command: 'git push' }],
  ['Monitor', { command: `echo '{"disableAllHooks":true}' > .claude/settings.local.json`, description: 'x' }],
  ['Monitor', { command: 'tail -f log | sh -c "git push"' }],
  ['Monitor', { command: `node ${MAIN} accept` }],
  ['Monitor', { command: 'cat .env' }],
  ['Monitor', { command: 'echo x > deploy/prod.yaml' }],
  ['CronCreate', { cron: '* * * * *', command: 'git push' }],
  ['NotHereYet', { command: 'git push' }],
  ['NotHereYet', { cmd: ['git', 'push'] }],
  ['NotHereYet', { options: { steps: [{ run: 'npm test' }, { run: 'git push' }] } }],
  ['NotHereYet', { job: { shell: { script: 'set -e\ngit push' } } }],
  ['NotHereYet', { commands: ['npm test', 'git push'] }],
  ['NotHereYet', { program: 'git', args: ['push', 'origin'] }],
  ['NotHereYet', { executable: '/usr/bin/git', arguments: 'push' }],
  ['NotHereYet', { argv: ['bash', '-c', 'git push'] }],
  ['NotHereYet', { command: 'rm settings.json', cwd: '.claude' }],
  ['NotHereYet', { powershell: 'Remove-Item .claude/settings.json' }],
  ['NotHereYet', { path: STATE }],
  ['NotHereYet', { anything: at(STATE) }],
  ['NotHereYet', { anything: `./${HOOK}` }],
  ['NotHereYet', { anything: STATE }],
  ['NotHereYet', { anything: '~/.claude/settings.json' }],
  ['NotHereYet', { anything: `file://${at(STATE)}` }],
  ['NotHereYet', { anything: `file:${at(STATE)}` }],
  ['NotHereYet', { anything: 'linked.json' }],
  ['NotHereYet', { a: { b: { c: { d: { e: { f: { g: [at(HOOK)] } } } } } } }],
  ['NotHereYet', { files: { '.claude/settings.json': '{}' } }],
  ['NotHereYet', { root: '.claude' }],
  ['NotHereYet', { value: '.env' }],
  ['NotHereYet', { list: ['README.md', 'deploy/prod.yaml'] }],
  ['NotHereYet', [at(STATE)]],
  ['mcp__x__exec', { command: 'git', args: ['push'] }],
  ['mcp__x__exec', { command: ['git', '-C', '.', 'push'] }],
  ['mcp__x__exec', { input: { cmdline: 'git push' } }],
  ['mcp__x__eval', { code: `require('fs').rmSync('${STATE}')` }],
  ['mcp__x__get_and_store', { path: STATE }],
  ['mcp__x__getAndStore', { path: STATE }],
  ['mcp__x__read_or_create', { path: STATE }],
  ['mcp__x__fetch_to_file', { url: 'https://example.com', into: STATE }],
  ['mcp__x__read_file', { path: '.env' }],
  ['mcp__x__snapshot', { what: at('.env.local') }],
  ['mcp__x__archive', { folder: '.claude' }],
  ['mcp__x__x', { x: 'rm -rf .claude/ralph' }],
  ['mcp__tmux__send', { input: `cd src\nrm ../${STATE}\n` }],
  ['mcp__x__x', { lines: ['cat .env'] }],
  ['mcp__x__x', { x: 'echo {} > .claude/settings.json' }],
  ['mcp__git__git_push', { repo_path: '.', remote: 'origin' }],
  ['mcp__git-mcp-server__push', {}],
  ['mcp__tools__git_push', {}],
  ['mcp__github__push_files', { branch: 'main', files: [{ path: 'a', content: 'b' }], message: 'x' }],
  ['mcp__git__gitPush', {}],
  ['mcp__git__git_push', { branch: 'x'.repeat(20_000) }],
  ["mcp__Ann's git__git_push", {}],
  ['Workflow', { script: `await shell("echo > ${STATE}")` }],
  ['Workflow', { script: `run("node ${MAIN} accept")` }],
];

const ALLOWED: readonly Call[] = [
  ['Monitor', { command: 'tail -f test.log | grep --line-buffered FAIL', description: 'do not git push' }],
  ['Monitor', { command: `tail -f ${STATE}` }],
  ['CronCreate', { cron: '0 9 * * *', prompt: 'Do not git push; look at .claude/settings.json' }],
  [
    'Agent',
    { description: 'git push', prompt: `Explain ${STATE}. Do not git push.`, subagent_type: 'general-purpose' },
  ],
  ['Task', { prompt: '.claude/settings.json' }],
  ['TodoWrite', { todos: [{ content: 'do not git push', status: 'pending', activeForm: 'git push' }] }],
  ['TaskCreate', { subject: 'git push', description: `rm ${STATE}` }],
  ['AskUserQuestion', { questions: [{ question: `May I git push ${STATE}?`, header: '.env', options: [] }] }],
  ['SendMessage', { to: 'a', message: `look at ${STATE}` }],
  ['Skill', { skill: 'ralph-loop', args: 'git push' }],
  ['ToolSearch', { query: 'select:Monitor' }],
  ['WebSearch', { query: 'git push .claude/settings.json' }],
  ['WebFetch', { url: 'https://example.com/.claude/settings.json', prompt: 'git push' }],
  ['ReportFindings', { findings: [{ file: '.claude/settings.json', summary: 'git push' }] }],
  ['ScheduleWakeup', { seconds: 60, reason: 'git push' }],
  ['Write', { file_path: at('docs/x.md'), content: `git push\nrm ${STATE}` }],
  ['Write', { file_path: at('docs/x.md'), content: at(STATE) }],
  ['Edit', { file_path: at('docs/x.md'), old_string: STATE, new_string: at(STATE) }],
  ['Read', { file_path: at(STATE) }],
  ['Grep', { pattern: STATE, path: at('src') }],
  ['Workflow', { script: 'await agent("Write the tests")' }],
  ['NotHereYet', { path: 'src/index.ts' }],
  ['NotHereYet', { command: 'npm test' }],
  ['NotHereYet', { command: ['git', 'commit', '-m', 'do not git push'] }],
  ['NotHereYet', { program: 'npm', args: ['test', '--', '--grep', 'git push'] }],
  ['NotHereYet', { body: 'Explain .claude/settings.json and git push' }],
  ['mcp__think__think', { thought: `rm ${STATE} would be denied; cat .env too` }],
  ['mcp__wiki__put', { page: `To stop it:\nrm ${STATE}` }],
  ['mcp__git__git_commit', { message: 'do not git push' }],
  ['mcp__git__git_status', {}],
  ['mcp__github__list_pushes', {}],
  ['mcp__digital__push_notification', { title: 'git push' }],
  ['mcp__x__x', { x: 'rm -rf dist' }],
  ['mcp__serena__replace_regex', { path: 'src/index.ts', regex: '.env', repl: '.claude/settings.json' }],
  ['NotHereYet', { root: '.' }],
  ['NotHereYet', { root: project.dir }],
  ['NotHereYet', { url: 'https://example.com/.claude/settings.json' }],
  ['NotHereYet', { count: 3, flag: true, nothing: null }],
  ['mcp__github__create_issue', { owner: 'o', repo: 'r', title: 'Explain .claude/settings.json', body: 'git push' }],
  ['mcp__github__get_file_contents', { owner: 'o', repo: 'r', path: '.claude/settings.json' }],
  ['mcp__fs__list_directory', { path: at('.claude') }],
  ['mcp__fs__readFile', { path: at(STATE) }],
  ['mcp__fs__write_file', { path: at('docs/x.md'), content: `git push ${STATE}` }],
  ['mcp__db__query', { sql: 'select * from push' }],
  ['mcp__slack__post', { channel: '#x', text: 'do not git push' }],
  ['mcp__ide__getDiagnostics', { uri: `file://${at('src/index.ts')}` }],
  ['mcp__x__exec', { command: 'git', args: ['status'] }],
];

/** The rule as it was: Bash, PowerShell and the key `command` of a server's tool. */
const seenBefore = ([tool, input]: Call): boolean =>
  ['Bash', 'PowerShell'].includes(tool) ||
  (tool.startsWith('mcp__') && typeof (input as { command?: unknown }).command === 'string');

describe('every call of every tool is judged', () => {
  for (const call of DENIED) it(`denies ${JSON.stringify(call)}`, async () => assert.equal(await decide(call), 'deny'));
  for (const call of ALLOWED)
    it(`allows ${JSON.stringify(call)}`, async () => assert.equal(await decide(call), 'allow'));

  it('a list of known shells sees few of them', () => {
    const missed = DENIED.filter((call) => !seenBefore(call));
    assert.ok(missed.length >= 40, `the control misses only ${missed.length} of ${DENIED.length}`);
  });

  it('a word that may be a path does not count for the scope of a task', async () => {
    const scope = { task: 'Task 1', entries: ['src'], free: [], noPushTo: [] };
    assert.equal(await decide(['mcp__github__create_issue', { repo: 'owner/name' }], scope), 'allow');
    assert.equal(await decide(['mcp__fs__write_file', { path: 'docs/x.md' }], scope), 'deny');
    assert.equal(await decide(['NotHereYet', { anything: at('docs/x.md') }], scope), 'deny');
  });

  it('a call with thousands of paths is denied', async () => {
    const many = Array.from({ length: 5000 }, (_, index) => `src/${index}`);
    assert.equal(await decide(['NotHereYet', { many }]), 'deny');
  });
});
