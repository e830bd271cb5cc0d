import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { runClient } from '../support/client/client.ts';
import { findClientBinary } from '../support/client/client-binary.ts';
import { clientEnvironment } from '../support/client/client-environment.ts';
import { CLIENT } from '../support/client/client-facts.ts';
import { bundle, inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';

const DONE = text('Done.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS');
const RULES = 'validation: ["test -f done.txt"]\nmax_iterations: 5';

/** A marketplace as its users reach it: a git repository behind the address that `owner/ralph` stands for. */
function marketplace({ workspace }: LoopProject) {
  const repository = join(workspace.root, 'market');
  cpSync(dirname(bundle), repository, { recursive: true });
  // With a key the client waits 17 s in each command for a service that is not there.
  const env = clientEnvironment(workspace, undefined, { ANTHROPIC_API_KEY: undefined });
  const git = (...args: string[]) => execFileSync('git', args, { cwd: repository, env, stdio: 'pipe' });
  const address = `[url "file://${repository}"]\n\tinsteadOf = https://github.com/owner/ralph.git\n\tinsteadOf = git@github.com:owner/ralph.git\n`;
  writeFileSync(
    join(workspace.home, '.gitconfig'),
    `${address}[user]\n\tname = Test\n\temail = test@example.invalid\n`,
  );
  git('init', '-q', '-b', 'main');
  const commit = (): void => {
    git('add', '-A', '-f');
    git('commit', '-q', '-m', 'Release');
  };
  commit();
  const claude = (...args: string[]): string => {
    const options = { cwd: workspace.project, env, encoding: 'utf8', input: '' } as const;
    const { status, stdout, stderr } = spawnSync(findClientBinary(), ['plugin', ...args], options);
    assert.equal(status, 0, `plugin ${args.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  };
  const manifest = join(repository, 'plugin', '.claude-plugin', 'plugin.json');
  const bump = (version: string): void => {
    writeFileSync(manifest, JSON.stringify({ ...JSON.parse(readFileSync(manifest, 'utf8')), version }));
    commit();
  };
  const installed = (): string[] =>
    (JSON.parse(claude('list', '--json')) as { id: string; version: string }[])
      .map(({ id, version }) => `${id} ${version}`)
      .sort();
  return { claude, bump, installed };
}

test('the plugin from a git repository runs a loop, updates, and leaves no trace when it is uninstalled', async () => {
  await inLoopProject(
    { frontmatter: RULES, init: false },
    steps([text('Looking.'), bash('touch done.txt'), DONE, bash('rm -f done.txt; touch done.txt'), text('One.'), DONE]),
    async (project) => {
      const { workspace, model } = project;
      const { claude, bump, installed } = marketplace(project);
      const { version } = JSON.parse(readFileSync(join(bundle, '.claude-plugin', 'plugin.json'), 'utf8'));
      // Newer clients list plugins that they bring themselves.
      const brought = installed();
      claude('marketplace', 'add', 'owner/ralph');
      claude('install', 'ralph-loop@ralph');
      assert.deepEqual(installed(), [...brought, `ralph-loop@ralph ${version}`].sort());

      const byHand = () => runClient({ workspace, model, prompt: 'Begin.', env: { RALPH_ACTIVE: '1' } });
      await byHand();
      const first = project.archive();
      assert.deepEqual(
        first.map(({ state }) => [state['ended'] && (state['ended'] as { as: string }).as, state['iteration']]),
        [['complete', 2]],
      );

      // Registered twice, by the plugin and by a settings file: each Stop counts once.
      const enabled = readFileSync(join(workspace.configDir, 'settings.json'), 'utf8');
      writeFileSync(join(workspace.configDir, 'settings.json'), '{}');
      assert.equal(project.main(['init']).code, 0);
      writeFileSync(join(workspace.configDir, 'settings.json'), enabled);
      await byHand();
      const second = project.archive().find(({ name }) => name !== first[0]?.name);
      assert.equal(second?.state['iteration'], 2);
      assert.equal(project.main(['uninit']).code, 0);
      model.check();

      bump('9.9.9');
      claude('marketplace', 'update', 'ralph');
      claude('update', 'ralph-loop@ralph');
      assert.deepEqual(installed(), [...brought, 'ralph-loop@ralph 9.9.9'].sort());

      claude('uninstall', 'ralph-loop@ralph');
      claude('marketplace', 'remove', 'ralph');
      assert.deepEqual(installed(), brought);
      const settings = readFileSync(join(workspace.configDir, 'settings.json'), 'utf8');
      assert.doesNotMatch(settings, /ralph/);
      const data = join(workspace.configDir, 'plugins', 'data');
      assert.deepEqual(existsSync(data) ? readdirSync(data) : [], []);
    },
  );
});

test('the client validates the plugin strictly and for its directory, and the marketplace', () => {
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent' };
  const newer = [
    [bundle, '--strict'],
    [bundle, '--profile', 'directory'],
    [dirname(bundle), '--strict'],
  ];
  // A client that does not know `types` warns of it, and ignores it.
  for (const args of CLIENT.validatesProfiles ? newer : [[bundle], [dirname(bundle)]]) {
    const { status, stdout } = spawnSync(findClientBinary(), ['plugin', 'validate', ...args], {
      env,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout);
  }
});
