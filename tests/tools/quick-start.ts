import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';
import { clientEnvironment } from '../support/client/client-environment.ts';
import { createWorkspace } from '../support/client/workspace.ts';
import { bash, startScriptedModel, steps, text, tool } from '../support/model/scripted-model.ts';

/** `npm start`: the real client works on a copy of the example, with a scripted model; `-- --real` asks the user's. */
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const main = join(root, 'dist', 'plugin', 'scripts', 'main.cjs');
const real = process.argv.includes('--real');
const TASK = 'make the failing tests pass';

process.exitCode = await quickStart();

async function quickStart(): Promise<number> {
  const workspace = real ? null : createWorkspace({ git: false });
  const project = workspace?.project ?? mkdtempSync(join(tmpdir(), 'ralph-loop-example-'));
  cpSync(join(root, 'examples', 'slugs'), project, { recursive: true });
  rmSync(join(project, '.claude'), { recursive: true, force: true });
  const model = real ? null : await startScriptedModel(quickStartScript(project));
  const env: NodeJS.ProcessEnv = workspace === null ? ownEnvironment() : clientEnvironment(workspace, model?.url);
  const show = (program: string, ...args: string[]): void => {
    spawnSync(program, args, { cwd: project, env, stdio: ['ignore', 'inherit', 'inherit'] });
  };
  const git = (...args: string[]): unknown => {
    const identity = ['-c', 'user.name=Quick start', '-c', 'user.email=quick-start@example.invalid'];
    return spawnSync('git', [...identity, ...args], { cwd: project, env });
  };
  const tests = (): void => {
    const { stdout } = spawnSync(process.execPath, ['--test'], { cwd: project, env, encoding: 'utf8' });
    console.log(
      stdout
        .split('\n')
        .filter((line) => /^(?:# |ℹ )(?:pass|fail) /.test(line))
        .join('\n'),
    );
  };
  try {
    git('init', '--quiet');
    git('add', '--all');
    git('commit', '--quiet', '--message', 'Begin');
    title(`A copy of examples/slugs in ${project}. Its tests before:`);
    tests();
    title(`ralph-loop run "${TASK}" --yes`);
    console.log(real ? 'Claude Code works with your account.' : 'The real Claude Code works; the model is a script.');
    const code = await run(project, env);
    title('Its tests after, and what has changed:');
    tests();
    show('git', '--no-pager', 'diff', '--stat', '--', 'src');
    show('git', '--no-pager', 'diff', '--unified=0', '--', 'src');
    title('On your own project');
    console.log(
      `  npm install -g .        # once, here: puts ralph-loop on your PATH\n  cd YOUR-PROJECT\n  ralph-loop run "${TASK}"`,
    );
    console.log(`\nWithout an install: node ${main} run "${TASK}"`);
    return code;
  } finally {
    await model?.close();
  }
}

/** The user's own account, without what an outer Claude Code session has put into the environment. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const { CLAUDECODE: _, CLAUDE_CODE_SESSION_ID: __, ...env } = process.env;
  return env;
}

function run(project: string, env: NodeJS.ProcessEnv): Promise<number> {
  const loop = spawn(process.execPath, [main, 'run', TASK, '--yes'], { cwd: project, env, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    loop.once('error', reject);
    loop.once('exit', (code) => resolve(code ?? 1));
  });
}

function title(text: string): void {
  const format = process.stdout.isTTY && !process.env['NO_COLOR'];
  console.log(`\n${format ? styleText('bold', text) : text}`);
}

/** What the scripted model does: work, a claim that is too early and is refused, more work, a claim that holds. */
function quickStartScript(project: string): ReturnType<typeof steps> {
  const file = (path: string): string => join(project, path);
  return steps([
    bash('npm test'),
    tool('Read', { file_path: file('src/slug.js') }, 'Two tests fail. I begin with slug().'),
    tool('Edit', {
      file_path: file('src/slug.js'),
      old_string: "replace(/[^a-z0-9]/g, '-')",
      new_string: "replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')",
    }),
    text('slug() now joins words with a single hyphen. All tests should pass.\n\n<promise>DONE</promise>'),
    tool('Read', { file_path: file('src/unique.js') }, 'The claim was rejected: the test of unique() still fails.'),
    tool('Edit', {
      file_path: file('src/unique.js'),
      old_string: '  return taken.has(slug) ? `${slug}-1` : slug;',
      new_string:
        '  let candidate = slug;\n  for (let number = 1; taken.has(candidate); number++) candidate = `${slug}-${number}`;\n  return candidate;',
    }),
    bash('npm test'),
    text('All tests pass.\n\n<promise>DONE</promise>'),
  ]);
}
