import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { bundle, promptFile } from '../../support/client/loop-project.ts';
import { CODEX, type CodexProject, inCodexProject } from '../../support/codex/codex-project.ts';
import { ownSession } from '../../support/codex/own-session.ts';
import { say, shell, shellToEnd } from '../../support/codex/responses-model.ts';
import { trustAll } from '../../support/codex/trust-all.ts';

/** Adds the plugin to Codex as a user does. */
function addPlugin({
  workspace,
  codexHome,
  environment,
}: Pick<CodexProject, 'workspace' | 'codexHome' | 'environment'>) {
  const env = environment({ CODEX_HOME: codexHome, HTTPS_PROXY: 'http://127.0.0.1:9', RALPH_CODEX: CODEX });
  const codex = (...words: string[]): void => {
    const done = spawnSync(process.execPath, [CODEX, ...words], { cwd: workspace.project, env, encoding: 'utf8' });
    assert.equal(done.status, 0, done.stdout + done.stderr);
  };
  const config = join(codexHome, 'config.toml');
  const set = (from: string, to: string): void => writeFileSync(config, readFileSync(config, 'utf8').replace(from, to));
  const market = join(workspace.root, 'market');
  cpSync(dirname(bundle), market, { recursive: true });
  set('plugins = false', 'plugins = true');
  codex('plugin', 'marketplace', 'add', market);
  codex('plugin', 'add', 'ralph-loop@ralph');
  return { env, set };
}

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
      const { env, set } = addPlugin({ workspace, codexHome, environment });
      const state = (changes = {}): string | undefined => {
        const { findings } = JSON.parse(main(['doctor', '--json'], { ...env, ...changes }).stdout) as {
          readonly findings: readonly Readonly<Record<'check' | 'level' | 'message' | 'fix', string>>[];
        };
        const found = findings.find(({ check }) => check === 'host-hooks');
        return found && `${found.level}: ${found.message} ${found.fix}`;
      };
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

      const shown = await ownSession(`Work by ${promptFile}.`, workspace, { ...env, RALPH_ACTIVE: '1' });
      assert.deepEqual([project.ended().as, project.ended().verified], ['complete', true], shown);
      assert.equal(workspace.read('tests/a.txt'), files['tests/a.txt'], 'also for a command in another folder');

      assert.match(main(['init', '--codex', '--yes'], env).stdout, /each runs twice/i);
    },
  );
});

test('Codex: who follows a skill of the plugin finds the program, which names what is missing', async () => {
  let runs = 0;
  const follow = ({ input }: { readonly input: string }) => {
    runs += 1;
    // As the skill says: two folders above that of SKILL.md.
    const skill = /<path>([^<]+)<\/path>/.exec(input)?.[1] ?? 'none';
    const root = resolve(dirname(skill), '../..');
    return runs % 2 === 1 ? shellToEnd(`node "${root}/scripts/main.cjs" doctor`) : say('That is missing.');
  };
  await inCodexProject({}, follow, async (project) => {
    const { env, set } = addPlugin(project);
    const { model, workspace } = project;
    await ownSession('Begin a loop by $ralph-loop:ralph-loop.', workspace, env);
    const [asked = '', answered = ''] = model.requests.map(({ input }) => input);
    for (const name of ['ralph-loop', 'ralph-draft']) assert.match(asked, new RegExp(`- ralph-loop:${name}: \\w`));
    assert.match(asked, /\$\{CLAUDE_PLUGIN_ROOT\}/, 'control: Codex does not replace it');
    assert.match(asked, /In Codex, CLAUDE_PLUGIN_ROOT has no value: write the path of the folder two above/);
    assert.match(answered, /Codex does not trust 5 of them.*press t/);

    set('plugins = true', 'plugins = true\nhooks = false');
    await ownSession('Draft a task by $ralph-loop:ralph-draft.', workspace, env);
    const [again = '', off = ''] = model.requests.slice(2).map(({ input }) => input);
    assert.match(again, /In Codex, CLAUDE_PLUGIN_ROOT has no value/, 'the other skill says it as well');
    assert.match(off, /its plugins, this one or all hooks are switched off.*set plugins and hooks to true/);
  });
});
