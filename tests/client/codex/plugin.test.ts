import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { bundle, promptFile } from '../../support/client/loop-project.ts';
import { CODEX, inCodexProject } from '../../support/codex/codex-project.ts';
import { say, shell } from '../../support/codex/responses-model.ts';
import { trustAll } from '../../support/codex/trust-all.ts';

const DONE = say('All done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');

test('Codex: the plugin drives a session once its hooks are trusted, and each way to have it half is named', async () => {
  const frontmatter = [
    'max_iterations: 5',
    'validation: ["test -f made.txt"]',
    'guardrails: {protected_files: [tests/**]}',
  ].join('\n');
  const files = { 'tests/a.txt': 'as it was\n' };
  const script = [DONE, shell('rm a.txt', { workdir: 'tests' }), shell('touch made.txt'), DONE];
  await inCodexProject(
    { frontmatter, files },
    script,
    async ({ workspace, codexHome, environment, main, ...project }) => {
      const env = environment({ CODEX_HOME: codexHome, HTTPS_PROXY: 'http://127.0.0.1:9', RALPH_CODEX: CODEX });
      const codex = (...words: string[]): void => {
        const done = spawnSync(process.execPath, [CODEX, ...words], { cwd: workspace.project, env, encoding: 'utf8' });
        assert.equal(done.status, 0, done.stdout + done.stderr);
      };
      const market = join(workspace.root, 'market');
      cpSync(dirname(bundle), market, { recursive: true });
      const config = join(codexHome, 'config.toml');
      const set = (from: string, to: string): void =>
        writeFileSync(config, readFileSync(config, 'utf8').replace(from, to));
      const state = (changes = {}): string | undefined => {
        const { findings } = JSON.parse(main(['doctor', '--json'], { ...env, ...changes }).stdout) as {
          readonly findings: readonly Readonly<Record<'check' | 'level' | 'message' | 'fix', string>>[];
        };
        const found = findings.find(({ check }) => check === 'host-hooks');
        return found && `${found.level}: ${found.message} ${found.fix}`;
      };
      set('plugins = false', 'plugins = true');
      codex('plugin', 'marketplace', 'add', market);
      codex('plugin', 'add', 'ralph-loop@ralph');
      const untrusted = /^error: the hooks in the plugin ralph-loop: Codex does not trust 5 of them.*press t\.$/;
      assert.match(state() ?? '', untrusted);
      const off = /^error: .*its plugins, this one or all hooks are switched off\. set plugins and hooks to true/;
      for (const [on, other] of [
        ['plugins = true', 'plugins = false'],
        ['plugins = true', 'plugins = true\nhooks = false'],
        ['enabled = true', 'enabled = false'],
      ] as const) {
        set(on, other);
        assert.match(state() ?? '', off, other);
        set(other, on);
      }
      assert.match(state() ?? '', untrusted, 'control: switched on again');
      const old = workspace.write('../bin/old-codex', '#!/bin/sh\necho codex-cli 0.150.0\n', 0o755);
      assert.match(state({ RALPH_CODEX: old }) ?? '', /^error: .*Codex 0\.150\.0 .* Update it: npm .* null$/);
      await trustAll(env as NodeJS.ProcessEnv, workspace.project);
      assert.match(state() ?? '', /^ok: /);

      const words = ['exec', '--sandbox', 'danger-full-access', '--skip-git-repo-check', `Work by ${promptFile}.`];
      const session = spawn(process.execPath, [CODEX, ...words], {
        cwd: workspace.project,
        env: { ...env, RALPH_ACTIVE: '1' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let shown = '';
      for (const stream of [session.stdout, session.stderr]) stream.on('data', (chunk) => (shown += chunk));
      await once(session, 'close');
      assert.deepEqual([project.ended().as, project.ended().verified], ['complete', true], shown);
      assert.equal(workspace.read('tests/a.txt'), files['tests/a.txt'], 'also for a command in another folder');

      assert.match(main(['init', '--codex', '--yes'], env).stdout, /each runs twice/i);
    },
  );
});
