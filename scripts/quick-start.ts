import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';
import { clientEnvironment } from '../tests/support/client/client-environment.ts';
import { createWorkspace } from '../tests/support/client/workspace.ts';
import { bash, startScriptedModel, steps, text, tool } from '../tests/support/model/scripted-model.ts';

/**
 * `npm start`: installs the bundle into a copy of the example project and lets the real Claude Code work on it until
 * its tests pass. The model is a script on loopback; `-- --real` asks the user's own account instead.
 */
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const real = process.argv.includes('--real');

process.exitCode = await main();

async function main(): Promise<number> {
  const workspace = real ? null : createWorkspace({ git: false });
  const project = workspace?.project ?? mkdtempSync(join(tmpdir(), 'ralph-loop-example-'));
  cpSync(join(root, 'examples', 'slugs'), project, { recursive: true });
  const model = real ? null : await startScriptedModel(quickStartScript(project));
  const env = workspace === null ? ownEnvironment() : clientEnvironment(workspace, model?.url);
  try {
    title('A copy of examples/slugs, with ralph-loop installed');
    console.log(project);
    const command = [join(root, 'dist', 'plugin', 'scripts', 'main.cjs'), 'init', '--project', project];
    const init = spawnSync(process.execPath, command, { cwd: project, env, encoding: 'utf8' });
    if (init.status !== 0) throw new Error(`init failed:\n${init.stdout}${init.stderr}`);
    title(
      real ? 'Claude Code with your account works on it' : 'The real Claude Code works on it; the model is a script',
    );
    const code = await runLauncher(project, env);
    summary(project, code);
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

function runLauncher(project: string, env: NodeJS.ProcessEnv): Promise<number> {
  const tools = ['Bash(node --test)', 'Bash(node --test:*)'];
  const launcher = spawn(
    join(project, '.claude', 'ralph', 'ralph-audit.sh'),
    [
      ...['--headless', '--permission-mode', 'acceptEdits', '--'],
      ...['--output-format', 'stream-json', '--verbose', '--allowedTools', ...tools],
    ],
    { cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  createInterface({ input: launcher.stdout }).on('line', (line) => showMessage(line, project));
  createInterface({ input: launcher.stderr }).on('line', (line) => say('cyan', line));
  if (!real) answerDuringTheWait(project, launcher);
  return new Promise((resolve, reject) => {
    launcher.once('error', reject);
    launcher.once('exit', (code) => resolve(code ?? 1));
  });
}

/** Plays the user: while the loop waits for an answer, it appears in the task file. */
function answerDuringTheWait(project: string, launcher: ChildProcess): void {
  const state = join(project, '.claude', 'context', 'runtime', 'ralph-state.json');
  const task = join(project, '.claude', 'ralph', 'PROMPT.md');
  const timer = setInterval(() => {
    if (!existsSync(state) || !readFileSync(state, 'utf8').includes('"status": "waiting"')) return;
    clearInterval(timer);
    say('yellow', 'you: the loop waits 30 s, because nothing is left to do. You write the answer into PROMPT.md ...');
    setTimeout(() => {
      const before = readFileSync(task, 'utf8');
      writeFileSync(task, before.replace('None yet.', 'A taken slug gets the first number that is free.'));
    }, 2_000);
  }, 200);
  launcher.once('exit', () => clearInterval(timer));
}

interface StreamMessage {
  readonly type?: string;
  readonly subtype?: string;
  readonly content?: string;
  readonly message?: { readonly content?: readonly Record<string, unknown>[] | string };
}

/** The client's stream as a few readable lines: what the agent says and does, and what the loop says to the user. */
function showMessage(line: string, project: string): void {
  let message: StreamMessage;
  try {
    message = JSON.parse(line) as StreamMessage;
  } catch {
    say('dim', line);
    return;
  }
  if (message.type === 'system' && typeof message.content === 'string') say('cyan', message.content);
  const { content } = message.message ?? {};
  if (message.type !== 'assistant' || !Array.isArray(content)) return;
  for (const block of content) {
    if (block['type'] === 'text') say('green', `agent: ${String(block['text']).trim().replaceAll('\n', '\n       ')}`);
    if (block['type'] === 'tool_use') say('dim', `  · ${toolLine(block)}`.replaceAll(`${project}/`, ''));
  }
}

function toolLine(block: Record<string, unknown>): string {
  const input = block['input'] as Record<string, unknown>;
  return `${String(block['name'])} ${String(input['command'] ?? input['file_path'] ?? '')}`.slice(0, 120);
}

function summary(project: string, code: number): void {
  const archive = join(project, '.claude', 'context', 'runtime', 'ralph-archive');
  const last = existsSync(archive) ? readdirSync(archive).sort().at(-1) : undefined;
  title(code === 0 ? 'What happened' : `The loop ended with exit code ${code}`);
  console.log(
    'The agent worked, claimed completion too early and was refused, waited while there was nothing to do, went on',
  );
  console.log('when the task file changed, and its last claim was verified by running the tests.');
  if (last !== undefined) console.log(`Nothing is thrown away: ${join(archive, last)}`);
  title('On your own project');
  const main = join(root, 'dist', 'plugin', 'scripts', 'main.cjs');
  for (const line of [
    'cd YOUR-PROJECT',
    `node ${main} init          # once: bundle, hooks, launchers, a PROMPT.md to fill in`,
    '$EDITOR .claude/ralph/PROMPT.md   # what to do, and the commands that must pass',
    '.claude/ralph/ralph-audit.sh      # Claude Code, iteration after iteration',
  ]) {
    console.log(`  ${line}`);
  }
}

function title(text: string): void {
  console.log(`\n${paint('bold', text)}`);
}

function say(format: Parameters<typeof styleText>[0], text: string): void {
  console.log(paint(format, text));
}

function paint(format: Parameters<typeof styleText>[0], text: string): string {
  return process.stdout.isTTY && !process.env['NO_COLOR'] ? styleText(format, text) : text;
}

/** What the scripted model does in the quick start: work, a claim that is too early, a wait, a claim that holds. */
export function quickStartScript(project: string): ReturnType<typeof steps> {
  const file = (path: string): string => join(project, path);
  return steps([
    bash('node --test'),
    tool('Read', { file_path: file('src/slug.js') }, 'Two tests fail. First the one of slug().'),
    tool('Edit', {
      file_path: file('src/slug.js'),
      old_string: "replace(/[^a-z0-9]/g, '-')",
      new_string: "replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')",
    }),
    text('slug() joins words by one hyphen each now.\n\nRALPH_ITERATION_COMPLETE: 1 finding remains'),
    text('All tests should pass now.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS'),
    text(
      'The test of unique() still fails. What a taken slug becomes is an open question, so I wait for the answer in the task file.\n\n<!-- ralph:state idle -->',
    ),
    tool('Read', { file_path: file('src/unique.js') }, 'The answer is there: the first number that is free.'),
    tool('Edit', {
      file_path: file('src/unique.js'),
      old_string: '  return taken.has(slug) ? `${slug}-1` : slug;',
      new_string:
        '  let candidate = slug;\n  for (let number = 1; taken.has(candidate); number++) candidate = `${slug}-${number}`;\n  return candidate;',
    }),
    bash('node --test'),
    text('All tests pass.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS'),
  ]);
}
