import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Guardrails } from '../../../src/engine/schema/contract.ts';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import type { Verdict } from '../../../src/guard/guard.ts';
import { slowPatternDenied } from '../../../src/guard/messages.ts';
import { TEST_TIMEOUT_MS } from '../../support/until.ts';
import { createCorpusProject, NO_RULES } from './support/corpus-project.ts';

const project = createCorpusProject();
after(() => rmSync(project.root, { recursive: true, force: true }));
before(() => {
  mkdirSync(join(project.dir, 'wide'));
  for (let index = 0; index < 3000; index += 1) writeFileSync(join(project.dir, 'wide', `file-${index}.ts`), '');
});

/** Milliseconds that the processor has worked since: time in which it worked for others is none of ours. */
function worked(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** 400 ms of the processor's work are the most here, where this loop takes 20 ms; a slow one is given more. */
function patience(): number {
  const before = process.cpuUsage();
  let text = '';
  for (let at = 0; at < 400_000; at += 1) text = `${text}${at}`.slice(-100);
  return Math.max(2000, 60 * worked(before));
}
const PATIENCE_MS = patience();

const MANY_RULES: Guardrails = {
  blockCommands: [
    ...['git\\s+push', 'npm\\s+publish', '^rm\\s+-rf\\s+/', '(?i)drop\\s+table', 'a.*b.*c$'],
    { command: 'git', args: ['push'], reason: null },
    { command: 'aws', args: ['s3', 'rm'], reason: null },
    { pipeline: ['curl|wget', 'sh|bash'], reason: null },
  ],
  shellAllow: null,
  protectedFiles: ['.env*', '**/*.pem', 'deploy/**/{prod,live}*.yaml', 'policy:secret-bearing-paths'],
  privateFiles: ['.env*', 'policy:secret-bearing-paths'],
  strict: true,
};

async function timed(command: string, rules: Partial<Guardrails>): Promise<{ verdict: Verdict; milliseconds: number }> {
  const before = process.cpuUsage();
  const verdict = await evaluateToolCall(
    { tool: 'Bash', input: { command }, cwd: project.dir },
    { ...project.rules, ownFiles: [], ownGlobs: [], controlProgram: [], guardrails: { ...NO_RULES, ...rules } },
  );
  return { verdict, milliseconds: worked(before) };
}

describe('a pattern that would run forever', () => {
  const letters = 'a'.repeat(50_000);
  for (const [name, pattern, command] of [
    ['nested quantifiers in the allowlist', 'echo (a+)+!', `echo ${'a'.repeat(15_000)}`],
    ['nested quantifiers', '(a+)+!', `echo ${'a'.repeat(15_000)}`],
    ['nested quantifiers over 50,000 letters', '(a+)+!', `echo ${letters}`],
    ['alternatives over a heredoc', '(a|a)*!', `cat > out.txt <<'EOF'\n${letters}\nEOF`],
    ['many stars', '.*.*.*.*.*.*!', `echo ${letters}`],
    ['repeats of repeats', '((a{0,9}){0,9}){0,9}!', `echo ${letters}`],
  ] as const) {
    it(`is stopped, and denies by its name: ${name}`, { timeout: TEST_TIMEOUT_MS }, async (t) => {
      const allow = name.endsWith('allowlist');
      const { verdict, milliseconds } = await timed(
        command,
        allow ? { shellAllow: [pattern] } : { blockCommands: [pattern] },
      );
      t.diagnostic(`${milliseconds.toFixed(0)} ms`);
      assert.equal(verdict.decision === 'deny' && verdict.message, slowPatternDenied());
      assert.equal(verdict.decision === 'deny' && verdict.rule, allow ? 'shell_policy.allowlist' : pattern);
      assert.ok(milliseconds < PATIENCE_MS, `${milliseconds} ms`);
    });
  }
  it('does not affect the next call', async () => {
    await timed(`echo ${letters}`, { blockCommands: ['(a+)+!'] });
    assert.equal((await timed('echo a', { blockCommands: ['(a+)+!'] })).verdict.decision, 'allow');
  });
  it('is not a glob of names and stars, whose time is linear in the name', async (t) => {
    const { verdict, milliseconds } = await timed(`echo x > ${'a'.repeat(4000)}`, {
      protectedFiles: [`${'*a'.repeat(200)}*b`],
    });
    t.diagnostic(`${milliseconds.toFixed(0)} ms`);
    assert.equal(verdict.decision, 'allow');
    assert.ok(milliseconds < PATIENCE_MS, `${milliseconds} ms`);
  });
  it('may be a glob that is compared with a long name', { timeout: TEST_TIMEOUT_MS }, async (t) => {
    const glob = `{${'*a'.repeat(12)}*b,x}`;
    const { verdict, milliseconds } = await timed(`echo x > ${'a'.repeat(4000)}`, { protectedFiles: [glob] });
    t.diagnostic(`${milliseconds.toFixed(0)} ms`);
    assert.equal(verdict.decision === 'deny' && verdict.rule, `protected_files: ${glob}`);
    assert.ok(milliseconds < PATIENCE_MS, `${milliseconds} ms`);
  });
});

describe('hostile commands under many rules', () => {
  const HOSTILE: Readonly<Record<string, string>> = {
    'a megabyte of commands': 'a;'.repeat(500_000),
    'a megabyte of one word': 'a'.repeat(1_000_000),
    'ten thousand nested substitutions': 'echo $('.repeat(10_000) + ')'.repeat(10_000),
    'ten thousand open substitutions': '$('.repeat(10_000),
    'sixteen kilobytes of pipes': `${'a|'.repeat(8000)}a`,
    'a pipeline of downloads': `${'curl x|'.repeat(2300)}a`,
    'fifteen hundred globs': `rm ${Array.from({ length: 1500 }, (_, at) => `w*/*${at}`).join(' ')}`,
    'two thousand searches': 'find . -delete;'.repeat(1000),
    'fifteen hundred globs to read': `cat ${Array.from({ length: 1500 }, (_, at) => `w*/*${at}`).join(' ')}`,
    'globs in globs': `rm ${'*/'.repeat(200)}*`,
    'thousands of targets': `rm ${Array.from({ length: 2500 }, (_, at) => `f${at}`).join(' ')}`,
    'thousands of redirections': Array.from({ length: 2000 }, (_, at) => `>f${at}`).join(' '),
    'options without end': `aws ${'-a s3 '.repeat(2700)}rm x`,
    'a search of everything': 'grep -r key /; cat README.md',
    'wrappers without end': `${'sudo '.repeat(3000)}rm x`,
  };
  for (const [name, command] of Object.entries(HOSTILE)) {
    it(`are denied in time: ${name}`, { timeout: TEST_TIMEOUT_MS }, async (t) => {
      const { verdict, milliseconds } = await timed(command, MANY_RULES);
      t.diagnostic(`${milliseconds.toFixed(0)} ms, ${verdict.decision === 'deny' ? verdict.rule : 'allowed'}`);
      if (!/targets|redirections|in globs/.test(name)) assert.equal(verdict.decision, 'deny');
      assert.ok(milliseconds < PATIENCE_MS, `${milliseconds} ms`);
    });
  }
  it('cannot use up the search before the file that counts', async () => {
    for (const first of ['grep -r key /', 'find / -name x -delete', 'cat /usr/bin/*', 'cp -r /usr /tmp/x']) {
      const { verdict } = await timed(`${first}; rm -rf config`, { protectedFiles: ['config/app.pem'] });
      assert.equal(verdict.decision, 'deny', first);
    }
  });
  it('of every kind are allowed if they are harmless', async () => {
    // Globs that are held against any name in no time: with another among them a slow machine may deny.
    const { verdict, milliseconds } = await timed(`grep -l x ${'wide/*.ts '.repeat(3)}`, {
      ...MANY_RULES,
      protectedFiles: MANY_RULES.protectedFiles.filter((glob) => !glob.includes('{')),
      strict: false,
    });
    assert.equal(verdict.decision, 'allow', JSON.stringify(verdict));
    assert.ok(milliseconds < PATIENCE_MS, `${milliseconds} ms`);
  });
});
