import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Sandbox } from '../../../src/engine/schema/contract.ts';
import { sandboxProblem } from '../../../src/sandbox/bubblewrap.ts';
import { type CommandOutcome, runCommand } from '../../../src/task/commands/run-command.ts';
import { someOf } from '../../support/short-form.ts';
import { until } from '../../support/until.ts';
import { whenTimeIsUp } from '../task/support/when-time-is-up.ts';

/** Not below /tmp, which a sandbox hides: what is protected must be there to be protected. */
const root = realpathSync(mkdtempSync(join(process.cwd(), '.build', 'sandbox-')));
const project = join(root, 'project');
const env = {
  PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
  HOME: join(root, 'home'),
  XDG_STATE_HOME: join(root, 'state'),
  DEPLOY_TOKEN: 'a-secret',
  OTHER_PASSWORD: 'another-secret',
};
const NOTHING: Sandbox = { allowWrite: [], denyWrite: [], denyRead: [], network: false };
const socket = `/tmp/ralph-sandbox-${process.pid}.sock`;
const tcp = createServer((client) => client.end('reached'));
const unix = createServer((client) => client.end('reached'));
const bystander = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
let port = 0;

before(async () => {
  const problem = sandboxProblem(process.env);
  assert.equal(problem, null, `${problem?.text} Fix: ${problem?.fix}`);
  const file = (path: string, text = 'as it was'): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  file('outside/there');
  file('cache/there');
  file('state/ralph-loop/contract.json', 'the contract');
  file('home/.claude/settings.json');
  file('home/.gitconfig');
  file('project/.claude/settings.json');
  file('project/.ralph/config.json');
  file('project/kept/there');
  file('project/secret/there', 'the secret');
  execFileSync('git', ['init', '-q', project]);
  symlinkSync(join(root, 'outside'), join(project, 'link'));
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', () => resolve()));
  await new Promise<void>((resolve) => unix.listen(socket, () => resolve()));
  const address = tcp.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
});

after(() => {
  tcp.close();
  unix.close();
  bystander.kill('SIGKILL');
  rmSync(root, { recursive: true, force: true });
});

function run(text: string, terms: Sandbox | null): Promise<CommandOutcome> {
  const { signal } = new AbortController();
  const sandbox = terms && { terms, writable: project };
  return runCommand({ run: text, directory: project, env, timeoutMs: 60_000, signal, ...(sandbox && { sandbox }) });
}

const connect = (where: string): string =>
  `node -e "require('net').connect(${where}).on('data', (d) => console.log('' + d)).on('error', () => process.exit(9))"`;

/** What code of an agent may try in a check: each leaves with 0 where it succeeds. */
const ATTACKS: Readonly<Record<string, () => string>> = {
  'write outside the project': () => `echo x > ${root}/outside/new`,
  'write outside through a link': () => 'echo x > link/new',
  'write in the home': () => 'echo x > "$HOME/new"',
  "write the user's settings of the client": () => 'echo x > "$HOME/.claude/settings.json"',
  "write the user's settings of git": () => 'echo x > "$HOME/.gitconfig"',
  'write settings of the client': () => 'echo x > .claude/settings.json',
  'create local settings of the client': () => 'echo x > .claude/settings.local.json',
  'move the folder of the settings away': () => 'mv .claude .claude2 && mv .claude2 .claude',
  'move git away': () => 'mv .git .git2 && mv .git2 .git',
  'write a hook of git': () => 'echo x > .git/hooks/pre-commit',
  'write the configuration of git': () => 'git config core.fsmonitor ./evil',
  'write the configuration of the loop': () => 'echo x > .ralph/config.json',
  'read the state of the loop': () => `grep contract ${root}/state/ralph-loop/contract.json`,
  'mount the system writable': () => `mount -o remount,rw / && echo x > ${root}/outside/new`,
  'connect to a server of this machine': () => connect(`${port}, '127.0.0.1'`),
  'connect to a socket of another program': () => connect(`'${socket}'`),
  'end a process of the user': () => `kill -0 ${bystander.pid}`,
  'read a secret': () => 'env | grep -q another-secret',
  'read a secret of its parent': () => 'grep -aq another-secret /proc/[0-9]*/environ',
  'write what the task protects': () => 'echo x > kept/there',
  'remove what the task protects': () => 'rm -r kept && mkdir kept && echo > kept/there',
  'read what the task hides': () => 'grep secret secret/there',
};

const strict: Sandbox = { ...NOTHING, denyWrite: [join(project, 'kept')], denyRead: [join(project, 'secret')] };

for (const [what, text] of someOf(Object.entries(ATTACKS), 2)) {
  test(`a sandboxed command cannot ${what}`, async () => {
    const { end } = await run(text(), strict);
    assert.ok(end.kind === 'exit' && end.code !== 0, JSON.stringify(end));
    const control = await run(text(), null);
    const shown = control.output.text();
    assert.deepEqual(control.end, { kind: 'exit', code: 0 }, `control without the sandbox: ${shown}`);
  });
}

const HONEST: Readonly<Record<string, string>> = {
  'write in the project': 'mkdir -p made && echo x > made/file && rm -r made',
  'write temporary files': 'echo x > "$(mktemp)" && echo x > /tmp/file && echo x > /dev/shm/file',
  'look at the work tree with git': 'git status --porcelain > /dev/null && git diff --exit-code',
  'read files of the system': 'cat /etc/passwd > /dev/null && node -p 1',
  'use a secret that it names': 'test "$DEPLOY_TOKEN" = a-secret',
  'see its own processes': 'sleep 30 & kill -0 $! && kill $!',
  'start a server and call it': `node -e "const s = require('http').createServer((_, r) => r.end('ok')).listen(0, '127.0.0.1', async () => { const r = await fetch('http://127.0.0.1:' + s.address().port); process.exit(await r.text() === 'ok' ? 0 : 1) })"`,
};

for (const [what, text] of someOf(Object.entries(HONEST), 2)) {
  test(`a sandboxed command can ${what}`, async () => {
    const { end, output } = await run(text, NOTHING);
    assert.deepEqual(end, { kind: 'exit', code: 0 }, output.text());
  });
}

test('the task can open folders to write, and the network', async () => {
  const { end } = await run(`echo x > ${root}/cache/new && ${connect(`${port}, '127.0.0.1'`)}`, {
    ...NOTHING,
    allowWrite: [join(root, 'cache'), join(root, 'missing')],
    network: true,
  });
  assert.deepEqual(end, { kind: 'exit', code: 0 });
  assert.ok(existsSync(join(root, 'cache', 'new')));
  assert.ok(!existsSync(join(root, 'missing')));
});

test('a sandboxed command sees an empty loop state, and what it writes there is lost', async () => {
  const contract = join(root, 'state', 'ralph-loop', 'contract.json');
  const { end } = await run(`test ! -e ${contract}; echo forged > ${contract}`, NOTHING);
  assert.deepEqual(end, { kind: 'exit', code: 0 });
  assert.equal(readFileSync(contract, 'utf8'), 'the contract');
});

test('a clean copy in the state folder is writable, and the rest of that folder hidden', async () => {
  const copy = join(root, 'state', 'ralph-loop', 'copies', 'one');
  mkdirSync(copy, { recursive: true });
  const { signal } = new AbortController();
  const sandbox = { terms: { ...NOTHING, allowWrite: [root] }, writable: copy };
  const text = `echo x > made; ls .. ../..`;
  const { output } = await runCommand({ run: text, directory: copy, env, timeoutMs: 60_000, signal, sandbox });
  assert.equal(readFileSync(join(copy, 'made'), 'utf8'), 'x\n');
  assert.doesNotMatch(output.text(), /contract\.json/);
});

test('a task that opens the whole home leaves the control files closed', async () => {
  writeFileSync(join(root, 'home', '.claude', 'settings.json'), 'as it was');
  const { end } = await run('echo x > "$HOME/new"; echo x > "$HOME/.claude/settings.json" || echo x > .git/config', {
    ...NOTHING,
    allowWrite: [env.HOME],
  });
  assert.deepEqual(end, { kind: 'exit', code: 1 });
  assert.equal(readFileSync(join(root, 'home', '.claude', 'settings.json'), 'utf8'), 'as it was');
});

test('disables a list of servers that a command creates', async () => {
  await run('echo "{}" > .mcp.json', NOTHING);
  assert.ok(!existsSync(join(project, '.mcp.json')));
  assert.ok(existsSync(join(project, '.mcp.json.disabled')));
});

test('exit code, output, timeout and left-over processes are as without a sandbox', async (t) => {
  const failed = await run('echo out; echo err >&2; exit 7', NOTHING);
  assert.deepEqual(failed.end, { kind: 'exit', code: 7 });
  assert.match(failed.output.text(), /out\nerr/);
  const { signal } = new AbortController();
  const sandbox = { terms: NOTHING, writable: project };
  const beats = (name: string): string =>
    `node -e "setInterval(() => require('fs').appendFileSync('${name}', '.'), 20)"`;
  const slow = await whenTimeIsUp(
    t,
    1_500,
    'both work',
    () => ['one', 'two'].every((name) => existsSync(join(project, name))),
    () =>
      runCommand({
        ...{ directory: project, env, signal, sandbox },
        timeoutMs: 1_500,
        run: `${beats('one')} & ${beats('two')}`,
      }),
  );
  assert.deepEqual(slow.end, { kind: 'timeout' });
  const count = (): number[] => ['one', 'two'].map((name) => readFileSync(join(project, name), 'utf8').length);
  // The system takes its time to carry a SIGKILL out.
  await until('nothing runs on', async () => {
    const then = count();
    await new Promise((resolve) => setTimeout(resolve, 300));
    return count().join() === then.join();
  });
});

test('bubblewrap is not taken from a folder of the PATH that the command may write to', async () => {
  const left = join(project, 'bin');
  mkdirSync(left);
  writeFileSync(join(left, 'bwrap'), `#!/bin/sh\n: > ${join(root, 'outside', 'left')}\n`, { mode: 0o755 });
  writeFileSync(join(left, 'tool'), '#!/bin/sh\necho found\n', { mode: 0o755 });
  const { signal } = new AbortController();
  const sandbox = { terms: NOTHING, writable: project };
  const turned = { ...env, PATH: `${left}:${env.PATH}` };
  const command = { run: 'tool', directory: project, env: turned, timeoutMs: 60_000, signal, sandbox };
  const { output } = await runCommand(command);
  assert.match(output.text(), /found/);
  await runCommand({ ...command, env: { ...env, PATH: left } });
  assert.ok(!existsSync(join(root, 'outside', 'left')));
});

test('without bubblewrap a sandboxed command does not run at all', async () => {
  const { signal } = new AbortController();
  const sandbox = { terms: NOTHING, writable: project };
  const bare = { ...env, PATH: join(root, 'nothing') };
  const { end } = await runCommand({
    run: 'echo x > ran',
    directory: project,
    env: bare,
    timeoutMs: 60_000,
    signal,
    sandbox,
  });
  assert.equal(end.kind, 'unavailable');
  assert.ok(!existsSync(join(project, 'ran')));
});
