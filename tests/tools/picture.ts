import { execFileSync } from 'node:child_process';
import { cpSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clientEnvironment } from '../support/client/client-environment.ts';
import { bundle, launcherFile } from '../support/client/loop-project.ts';
import { createWorkspace } from '../support/client/workspace.ts';
import { bash, startScriptedModel, steps, text, tool } from '../support/model/scripted-model.ts';
import { startTerminal } from '../support/terminal/terminal.ts';
import { complete, idle, inTerminal } from '../support/terminal/terminal-loop.ts';
import { screenSvg } from './screen-svg.ts';

/**
 * `npm run picture`: writes docs/run.svg, the screen of a real run of Claude Code on examples/slugs in a terminal, and
 * docs/client.svg, a loop inside the client with the plugin's band and pane. The model is a script on loopback; it needs
 * tmux and a build.
 */
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const COLUMNS = 96;

const workspace = createWorkspace({ git: true });
const { project } = workspace;
cpSync(join(root, 'examples', 'slugs'), project, { recursive: true });
execFileSync('sh', ['-c', 'git add -A && git commit -q -m Start'], { cwd: project });
const promise = '<promise>DONE</promise>';
const file = (path: string): string => join(project, path);
const model = await startScriptedModel(
  steps([
    bash('npm test'),
    tool('Edit', {
      file_path: file('src/slug.js'),
      old_string: "replace(/[^a-z0-9]/g, '-')",
      new_string: "replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')",
    }),
    text(`\`slug()\` joins words by one hyphen each. All tests pass.\n\n${promise}`),
    tool('Read', { file_path: file('src/unique.js') }, 'One test of **unique()** still fails.'),
    tool('Edit', {
      file_path: file('src/unique.js'),
      old_string: '  return taken.has(slug) ? `${slug}-1` : slug;',
      new_string:
        '  let candidate = slug;\n  for (let n = 1; taken.has(candidate); n++) candidate = `${slug}-${n}`;\n  return candidate;',
    }),
    text(`\`unique()\` takes the first number that is free.\n\n${promise}`),
  ]),
);
// Beside `claude`, on the PATH.
symlinkSync(join(root, 'dist', 'plugin', 'scripts', 'main.cjs'), join(workspace.binDir, 'ralph-loop'));
const terminal = await startTerminal({
  command: '/bin/bash',
  args: ['--norc', '--noprofile', '-c', `export PS1='$ '; exec bash --norc --noprofile -i`],
  env: { ...clientEnvironment(workspace, model.url), PS1: '$ ' },
  cwd: project,
  columns: COLUMNS,
  rows: 60,
});
try {
  await terminal.waitFor(/^\$/m);
  await terminal.submit('ralph-loop run "make the failing tests pass"');
  await terminal.waitFor(/tests? fails?[\s\S]*\[Enter\] start/);
  await terminal.key('Enter');
  await terminal.waitFor(/\bcomplete\b[\s\S]*\n\S*[$#]\s*$/i);
  const screen = await terminal.painted();
  writeFileSync(join(root, 'docs', 'run.svg'), screenSvg(screen, COLUMNS));
  console.log(await terminal.history());
} finally {
  await terminal.close();
  await model.close();
  workspace.cleanup();
}

const WIDE = 150;
const tests = 'echo "not ok 4 - slugify keeps 3 dashes"\nexit 1\n';
const files = { 'tests.sh': tests };
const frontmatter = 'idle:\n  delay: 15m\nvalidation:\n  - name: tests\n    run: sh tests.sh';
const said = steps([
  bash('ls'),
  text(`The words are joined by one hyphen each.\n\n${complete}`),
  text(`Test 4 needs your decision: may a slug keep its dashes?\n\n${idle}`),
]);
await inTerminal({ frontmatter, files }, said, async (loop) => {
  const launch = ['--permission-mode', 'bypassPermissions', '--', '--plugin-dir', bundle];
  const inside = await loop.open(loop.workspace.path(launcherFile), launch, {}, [WIDE, 36]);
  await inside.waitFor(/ralph waiting · iteration \d+ of 25.* · wakes in/, /│.*The last check, tests, failed:/);
  writeFileSync(join(root, 'docs', 'client.svg'), screenSvg(await inside.painted(), WIDE));
  loop.main('cancel');
});
