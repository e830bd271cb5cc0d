import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { confinedTest } from '../support/client/client-facts.ts';
import { inLoopProject, type LoopProject, mainPath } from '../support/client/loop-project.ts';
import { runRunner } from '../support/client/runner.ts';
import type { Workspace } from '../support/client/workspace.ts';
import { commitFolder } from '../support/git.ts';
import { steps, text, tool } from '../support/model/scripted-model.ts';
import { TEST_TIMEOUT_MS } from '../support/until.ts';

const root = join(import.meta.dirname, '..', '..');
const page = (path: string): string => readFileSync(join(root, path), 'utf8');
const PAGES = ['README.md', 'docs/guide.md'];
const blocks = (path: string, language: string): string[] =>
  [...page(path).matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, code = '']) => code);
const commandLines = (path: string): string[] =>
  blocks(path, 'sh').flatMap((code) => code.split('\n').filter((line) => line.startsWith('ralph-loop ')));
const wordsOf = (line: string): string[] =>
  (line.match(/"[^"]*"|\S+/g) ?? []).slice(1).map((word) => word.replace(/^"(.*)"$/, '$1'));

/** What the commands of a walk are given beyond the words of the page: nobody is there to answer. */
const ANSWERED = ['--yes', '--plain'];
const TASK = '.ralph/make-failing-tests-pass/RALPH.md';
const FILES = {
  'package.json': JSON.stringify({ name: 'sums', scripts: { test: 'node --test', lint: 'node --check sum.js' } }),
  'test/sum.test.js':
    "require('node:test')('adds', () => require('node:assert').equal(require('../sum.js').sum(1, 2), 3));\n",
};
const SUM = 'exports.sum = (a, b) => a + b;\n';

confinedTest('every command of the guide does what the page says, in its order', async () => {
  const model = ({ path }: Workspace) => {
    const writes = (folder: string) => tool('Write', { file_path: path(join(folder, 'sum.js')), content: SUM });
    const claims = (promise: string) => text(`It is there.\n\n<promise>${promise}</promise>`);
    return steps([
      ...[writes('.'), claims('DONE')],
      ...[writes('.ralph/worktrees/make-failing-tests-pass'), claims('ALL TESTS PASS')],
      text('Nothing yet.'),
      ...[writes('.'), claims('ALL TESTS PASS')],
    ]);
  };
  const heard: string[] = [];
  const phone = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (body: string) => heard.push(body));
    response.end();
  });
  await new Promise<void>((resolve) => phone.listen(0, '127.0.0.1', resolve));
  const { port } = phone.address() as AddressInfo;
  try {
    await inLoopProject(
      { init: false, git: true, files: FILES, loop: 'make-failing-tests-pass' },
      model,
      async (project) => {
        const { workspace } = project;
        const git = commitFolder(workspace.project);
        const walked: string[] = [];
        for (const line of commandLines('docs/guide.md')) {
          if (line.includes(' check ')) {
            const [file = ''] = blocks('docs/guide.md', 'yaml');
            workspace.write(TASK, file.replace(/https:[^"]*/, `http://127.0.0.1:${port}/my-topic`));
            rmSync(workspace.path('sum.js'));
            git('add', '--all');
            git('commit', '--quiet', '--message', 'Keep the task');
          }
          if (line.includes(' resume ')) await reachLimit(project);
          const { code, said } = await call(project, line);
          assert.equal(code, 0, `${line}\n${said}`);
          walked.push(`${wordsOf(line)[0]}: ${said}`);
        }
        project.model.check();
        const shown = (command: string): string[] => walked.filter((text) => text.startsWith(`${command}: `));
        const [first = '', night = ''] = shown('run');
        assert.match(
          first,
          /Complete after 1 iteration, verified by \d checks?\. npm test failed before the start and passes/,
        );
        assert.match(night, /Complete after 1 iteration/);
        assert.match(shown('undo')[0] ?? '', /sum\.js/);
        assert.match(shown('status')[0] ?? '', /complete/i);
        assert.match(shown('resume')[0] ?? '', /Complete after 2 iterations/);
        assert.match(heard.join(' '), /my-topic/, 'the phone heard of the end');
      },
    );
  } finally {
    phone.close();
  }
});

/** A run of the same task that ends at its limit. */
async function reachLimit(project: LoopProject): Promise<void> {
  const { code, said } = await call(project, 'ralph-loop run make-failing-tests-pass --max-iterations 1');
  assert.equal(code, 2, said);
}

/** Runs a line of a page; the night, whose task names a web address, has a person who types yes. */
async function call(project: LoopProject, line: string): Promise<{ code: number | null; said: string }> {
  const [command = '', ...args] = wordsOf(line);
  const inPerson = args.includes('--worktree');
  const answers = inPerson ? ['--plain'] : command === 'run' || command === 'resume' ? ANSWERED : [];
  if (command === 'run') {
    const given = { permissionMode: null, json: false, args: [...args, ...answers], inPerson };
    const { code, stdout, stderr } = await runRunner(project, given);
    return { code, said: stdout + stderr };
  }
  const words = [mainPath, command, ...args, ...answers];
  const options = { cwd: project.workspace.project, env: project.environment(), timeout: TEST_TIMEOUT_MS };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, words, options, (_, stdout, stderr) => {
      resolve({ code: child.exitCode, said: stdout + stderr });
    });
  });
}

test('every command line and task file of README, guide and patterns is one that the program knows', async () => {
  await inLoopProject({ init: false, standIn: true }, steps([]), (project) => {
    const helps = new Map<string, ReturnType<typeof project.main>>();
    for (const path of PAGES) {
      const named = [...page(path).matchAll(/`(ralph-loop [^`]+)`/g)].map(([, line = '']) => line);
      for (const line of [...commandLines(path), ...named]) {
        const [command = '', ...args] = wordsOf(line);
        const help = helps.get(command) ?? project.main([command, '--help']);
        helps.set(command, help);
        assert.equal(help.code, 0, line);
        for (const option of args.filter((word) => word.startsWith('--'))) {
          assert.ok(help.stdout.includes(`${option} `), `${path}: ${line}\n${help.stdout}`);
        }
      }
    }
    project.workspace.write('package.json', FILES['package.json']);
    project.workspace.write('.ralph/example/coverage.sh', 'exit 0\n');
    const patterns = blocks('references/prompt-patterns.md', 'markdown');
    for (const file of [...PAGES.flatMap((path) => blocks(path, 'yaml')), ...patterns]) {
      project.workspace.write('.ralph/example/RALPH.md', file);
      const checked = project.main(['check', '.ralph/example']);
      assert.equal(checked.code, 0, `${file}\n${checked.stdout}${checked.stderr}`);
    }
    return Promise.resolve();
  });
});
