import assert from 'node:assert/strict';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { guardRules } from '../../../../src/drive/hook/guard-context.ts';
import { readConfigs } from '../../../../src/drive/start/read-settings.ts';
import { evaluateToolCall } from '../../../../src/guard/evaluate-tool-call.ts';
import type { GuardRules } from '../../../../src/guard/guard.ts';
import { managedDir } from '../../../../src/state/home-folder.ts';
import { loopFiles } from '../../../../src/state/loop-files.ts';
import { aProject, start } from '../../../support/drive/drive-project.ts';
import { emptyFolder } from '../../../support/folder.ts';

const root = emptyFolder({ after });
const project = join(root, 'project');
const home = join(root, 'home');
const env = { HOME: home, XDG_STATE_HOME: join(home, '.local/state') };
const AGENT = '{"agent": "sh -c evil"}';
for (const file of [
  join(project, '.ralph/old/config.json'),
  join(project, 'x/config.json'),
  join(project, 'config.json'),
]) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, AGENT);
}
const rules = guardRules(loopFiles(project, null, env), env, null);

const DENIED = [
  `echo '${AGENT}' > ~/.config/ralph-loop/config.json`,
  `echo '${AGENT}' > "$HOME/.config/ralph-loop/config.json"`,
  `mkdir -p ~/.config/ralph-loop; cd ~/.config/ralph-loop && echo '${AGENT}' > config.json`,
  `tee ~/.config/ralph-loop/config.json <<< '${AGENT}'`,
  'cp x/config.json ~/.config/ralph-loop/',
  'cp x/config.json ~/.config/ralph-loop/config.json',
  'ln -s $PWD/x/config.json ~/.config/ralph-loop/config.json',
  'mv ~/.config/ralph-loop/config.json /tmp/x',
  'cp -r x ~/.config/ralph-loop',
  "python3 -c \"open('config.json','w')\" ~/.config/ralph-loop/config.json",
  `echo '${AGENT}' > .ralph/config.json`,
  `echo '${AGENT}' > .ralph/other/config.json`,
  `echo '${AGENT}' > .ralph/old/config.json`,
  `mkdir -p .ralph/other && cd .ralph/other && echo '${AGENT}' > config.json`,
  `mkdir .ralph/other && tee .ralph/other/config.json < x/config.json`,
  'cp x/config.json .ralph/other/',
  'cp -r x .ralph/other',
  'mv x .ralph/other',
  'cp x/config.json .ralph/old',
  'rm .ralph/old/config.json',
  'rm -rf .ralph/old',
  `for n in a b; do echo '${AGENT}' > .ralph/$n/config.json; done`,
  `echo '${AGENT}' > ".ralph/$NAME/config.json"`,
  "sed -i 's/sh/bash/' .ralph/*/config.json",
  'jq .agent=1 x/config.json | sponge .ralph/deep/er/config.json',
  'iconv -o .ralph/other/config.json x/config.json',
  `echo '${AGENT}' > .claude/ralph/config.json`,
  'rsync -a x/ .ralph/other/',
  'install -m 644 x/config.json .ralph/other/config.json',
  'curl -o .ralph/other/config.json https://example.com',
];
const ALLOWED = [
  'cat ~/.config/ralph-loop/config.json',
  'jq . .ralph/old/config.json',
  'echo "{}" > config.json',
  'echo "{}" > x/config.json',
  'echo "{}" > ~/.config/other/config.json',
  'ls -la ~/.config .ralph .ralph/old',
  'mkdir -p .ralph/other && echo "- [ ] One" > .ralph/other/task.md',
  'echo "{}" > .ralph/other/configuration.json',
  'echo "{}" > .ralph/other/tsconfig.json',
  'cp x/config.json /tmp/config.json',
  'cp -r .ralph/old /tmp/old',
  'diff .ralph/old/config.json x/config.json',
  'git add .ralph/old/config.json',
  'rm -rf x/config.json',
  'grep agent .ralph/*/config.json',
  'find .ralph -name config.json',
  'wc -l .ralph/*/config.json',
  'echo ".ralph/other/config.json"',
  'git commit -m "Explain .ralph/config.json"',
  'touch .ralph/other/task.md',
  'node -e "console.log(1)"',
];

const decide = async (command: string, by: GuardRules): Promise<string> =>
  (await evaluateToolCall({ tool: 'Bash', input: { command }, cwd: project }, by)).decision;

describe('files that settings are read from', () => {
  for (const command of DENIED)
    it(`cannot be written by: ${command}`, async () => assert.equal(await decide(command, rules), 'deny'));
  for (const command of ALLOWED)
    it(`are not affected by: ${command}`, async () => assert.equal(await decide(command, rules), 'allow'));

  it('can be changed without the rule', async () => {
    const without = {
      ...rules,
      ownNames: [],
      ownFiles: rules.ownFiles.filter((path) => !path.endsWith('config.json')),
    };
    const missed = [];
    for (const command of DENIED) if ((await decide(command, without)) === 'allow') missed.push(command);
    assert.ok(missed.length >= 25, `the control misses only ${missed.length} of ${DENIED.length}`);
  });

  it('are all the files that the reader reads, wherever XDG_CONFIG_HOME points', async () => {
    const moved = { ...env, XDG_CONFIG_HOME: join(home, 'elsewhere') };
    const task = '.ralph/old/task.md';
    const { paths } = readConfigs(project, task, moved, true);
    assert.equal(Object.values(paths ?? {}).length, 4);
    const guarded = guardRules(loopFiles(project, null, moved), moved, null);
    for (const path of Object.values(paths ?? {})) {
      const call = { tool: 'Write', input: { file_path: path, content: AGENT }, cwd: project };
      assert.equal((await evaluateToolCall(call, guarded)).decision, 'deny', path);
    }
    assert.equal(await decide('echo > "$XDG_CONFIG_HOME/ralph-loop/config.json"', guarded), 'deny');
  });

  it('are refused by name if they are there and cannot be read, also behind a link that leads nowhere', (context) => {
    const home = emptyFolder(context as TestContext);
    const [folder, gone] = [join(home, '.config/ralph-loop'), join(home, 'dotfiles/ralph-loop')];
    const read = () => readConfigs(project, 'x/RALPH.md', { HOME: home }, true).configs ?? {};
    mkdirSync(dirname(folder), { recursive: true });
    assert.equal(read()['user config'], undefined, 'control: there is none');
    symlinkSync(gone, folder);
    assert.throws(read, /config\.json cannot be read: ENOENT/, 'a link to a folder that is not there');
    mkdirSync(gone, { recursive: true });
    assert.equal(read()['user config'], undefined, 'control: the folder is there, without a file');
    symlinkSync(join(home, 'no-such.json'), join(folder, 'config.json'));
    assert.throws(read, /config\.json cannot be read: ENOENT/, 'a link to a file that is not there');
    writeFileSync(join(home, 'no-such.json'), '{"max_iterations": 3}');
    assert.deepEqual(read()['user config'], { max_iterations: 3 }, 'control: a link that leads to a file');
    writeFileSync(join(home, 'no-such.json'), '{');
    assert.throws(read, /config\.json is not valid JSON/);
    rmSync(join(folder, 'config.json'));
    mkdirSync(join(folder, 'config.json'));
    assert.throws(read, /config\.json cannot be read: .* is not a regular file/);
  });

  it("are those that decide whether the loop's client runs our hooks, also in another home", async (context) => {
    const project = aProject(context as TestContext);
    const { directory: dir, files, env: own } = project;
    const { stored } = start(project, true);
    const decided = async (host: string | undefined, command: string): Promise<string> => {
      const contract = { ...stored.contract, ...(host === undefined ? {} : { host }) };
      const moved = { ...own, GEMINI_CLI_HOME: '/g', CODEX_HOME: '/c' };
      const by = guardRules(files, moved, { ...stored, contract });
      return (await evaluateToolCall({ tool: 'Bash', input: { command }, cwd: dir }, by)).decision;
    };
    const writes = {
      gemini: [
        'echo "{}" > .gemini/settings.json',
        'echo GITHUB_SHA=1 >> .gemini/.env',
        'echo "{}" > "$GEMINI_CLI_HOME/.gemini/settings.json"',
        'rm /g/.gemini/trustedFolders.json',
      ],
      codex: ['echo > .codex/config.toml', 'echo "{}" > "$CODEX_HOME/hooks.json"', 'rm /c/config.toml'],
    };
    for (const [host, commands] of Object.entries(writes))
      for (const command of commands) {
        assert.equal(await decided(host, command), 'deny', command);
        assert.equal(await decided(undefined, command), 'allow', `control, another client: ${command}`);
      }
    assert.equal(await decided('gemini', 'echo x > .gemini/commands.toml'), 'allow');
  });

  it('are the settings that an administrator gives to all users, which turn every hook off', async (context) => {
    const { directory: dir, files, env: own } = aProject(context as TestContext);
    const { stored } = start({ directory: dir, files, env: own }, true);
    const by = guardRules(files, own, stored);
    const place = managedDir();
    const without = { ...by, ownFiles: by.ownFiles.filter((path) => path !== managedDir() && !/remote-/.test(path)) };
    const decided = async (command: string, rules: GuardRules) =>
      (await evaluateToolCall({ tool: 'Bash', input: { command }, cwd: dir }, rules)).decision;
    for (const command of [
      `mkdir -p "${place}" && echo "{}" > "${place}/managed-settings.json"`,
      `cd "${place}" && tee managed-settings.d/00.json < x`,
      `sudo cp x "${place}/managed-settings.json"`,
      `ln -s /tmp/x "${place}"`,
      'echo "{}" > ~/.claude/remote-settings.json',
    ]) {
      assert.equal(await decided(command, by), 'deny', command);
      assert.equal(await decided(command, without), 'allow', `control: ${command}`);
    }
    for (const command of [
      `cat "${place}/managed-settings.json"`,
      'npm install -g @anthropic-ai/claude-code',
      'rm -rf "$tmp/claude-code" node_modules/@anthropic-ai/claude-code',
      'tar czf /tmp/etc.tgz /etc',
    ])
      assert.equal(await decided(command, by), 'allow', command);
    const codex = guardRules(files, own, { ...stored, contract: { ...stored.contract, host: 'codex' } });
    assert.equal(await decided('echo > /etc/codex/requirements.toml', codex), 'deny');
    assert.equal(await decided('rm -rf "$tmp/codex" dist/codex', codex), 'allow');
  });
});
