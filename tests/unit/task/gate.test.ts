import '../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runGate } from '../../../src/task/commands/gate.ts';
import { buildContract } from '../../../src/task/settings/build-contract.ts';
import { terms } from '../../support/contract-terms.ts';
import { ENV } from '../../support/environment.ts';
import { folderWith, writeFiles } from '../../support/folder.ts';
import { gate, OPTIONS } from './support/gate.ts';

test('a loop with nothing to check has no result', async (context) => {
  assert.deepEqual(await gate(folderWith(context), []), []);
});

test('runs every command and reports how each ended', async (context) => {
  const results = await gate(folderWith(context), [
    'true',
    'echo out; echo err >&2; exit 3',
    'kill -KILL $$',
    'no-such-program-here',
    'exit 1',
  ]);
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    ['ok', 'failed', 'failed', 'failed', 'failed'],
  );
  assert.equal(results[0]?.detail, 'exit code 0.');
  assert.match(results[1]?.detail ?? '', /^exit code 3\.\n(?:out\nerr|err\nout)$/);
  assert.match(results[2]?.detail ?? '', /^ended by SIGKILL\. It printed nothing\.$/);
  assert.match(results[3]?.detail ?? '', /^exit code 127\.\n.*no-such-program-here/);
  assert.equal(results[4]?.detail, 'exit code 1. It printed nothing.');
});

test('commands run in the project directory, without input, outside the loop', async (context) => {
  const directory = folderWith(context);
  const env = {
    ...ENV,
    RALPH_ACTIVE: '1',
    NODE_EXTRA_CA_CERTS: '',
    RALPH_NODE_EXTRA_CA_CERTS: '/certs.pem',
    CLAUDECODE: '1',
  };
  const [result] = await gate(
    directory,
    ['pwd; wc -c; echo "$RALPH_ACTIVE $NODE_EXTRA_CA_CERTS $CLAUDECODE"; env | grep -c RALPH_NODE; exit 9'],
    { env },
  );
  assert.match(result?.detail ?? '', new RegExp(`^exit code 9\\.\n${directory}\n\\s*0\n0 /certs\\.pem 1\n0$`));
  const without = { ...ENV, NODE_EXTRA_CA_CERTS: '' };
  const [bare] = await gate(directory, ['env | grep -c NODE_EXTRA; exit 9'], { env: without });
  assert.equal(bare?.detail, 'exit code 9.\n0');
});

test('finds bash on the PATH, and uses sh without it', async (context) => {
  const directory = folderWith(context);
  const [bash] = await gate(directory, ['[[ bash == b* ]] && echo bash; exit 1']);
  assert.match(bash?.detail ?? '', /\nbash$/);
  const bin = join(directory, 'bin');
  mkdirSync(bin);
  symlinkSync('/bin/sh', join(bin, 'sh'));
  const [posix] = await gate(directory, ['echo from-sh; exit 1'], { env: { PATH: `relative:${bin}` } });
  assert.match(posix?.detail ?? '', /\nfrom-sh$/);
});

test('does not find a shell in the project through a relative PATH', async (context) => {
  const directory = folderWith(context, { 'bin/bash': '#!/bin/sh\nexit 0\n' });
  const [result] = await gate(directory, ['exit 4'], { env: { PATH: `bin:.:${ENV['PATH']}` } });
  assert.match(result?.detail ?? '', /^exit code 4\./);
});

test('keeps output that comes through a process substitution', async (context) => {
  // However late it is: here nothing but a look at processes is given up.
  const real = globalThis.setTimeout;
  const patient = (run: () => void, ms = 0): NodeJS.Timeout => real(run, ms <= 20 ? ms : 600_000);
  context.mock.method(globalThis, 'setTimeout', patient as typeof setTimeout);
  const [result] = await gate(folderWith(context), ['exec > >(sleep 0.1; cat); echo late; exit 1']);
  assert.equal(result?.detail, 'exit code 1.\nlate');
});

test('keeps the head and the tail of a long output with the count of its bytes', async (context) => {
  const [result] = await gate(folderWith(context), [
    'echo first; head -c 1000000 /dev/zero | tr "\\0" x; echo; echo last; exit 1',
  ]);
  const detail = result?.detail ?? '';
  assert.ok(detail.length <= 12_000 + 'exit code 1.\n'.length, String(detail.length));
  assert.match(detail, /^exit code 1\.\nfirst\nx+\n\[… 1000012 bytes in all, the middle left out …\]\nx+\nlast$/);
  const [head = '', tail = ''] = detail.split(/\n\[…[^\]]*\]\n/);
  assert.equal(head.length - 'exit code 1.\n'.length, 8400);
  assert.ok(tail.length > 3500);
});

test('passes lines on as they arrive', async (context) => {
  const lines: string[] = [];
  await gate(folderWith(context), [{ name: 'talk', run: 'printf "a\\r\\nb"; echo c >&2' }], {
    onLine: (line, name) => lines.push(`${name}: ${line}`),
  });
  assert.deepEqual(lines.toSorted(), ['talk: a', 'talk: b', 'talk: c']);
});

test('a green run that executed no test is vacuous, even if its summary is in the omitted middle', async (context) => {
  const directory = folderWith(context);
  const noise = 'head -c 100000 /dev/zero | tr "\\0" "\\n"';
  const [plain, lost, real] = await gate(directory, [
    'echo "No tests found, exiting with code 0"',
    `${noise}; echo "0 passing (1ms)"; ${noise}`,
    'echo "1 passing (1ms)"',
  ]);
  assert.equal(plain?.outcome, 'vacuous');
  assert.match(plain?.detail ?? '', /no test that it executed.*\nNo tests found/);
  assert.equal(lost?.outcome, 'vacuous');
  assert.equal(real?.outcome, 'ok');
});

test('a real node:test run over a file without a test is vacuous', async (context) => {
  const directory = folderWith(context, {
    'empty.test.mjs': 'export {};\n',
    'skip.test.mjs': "import test from 'node:test';\ntest.skip('a', () => {});\n",
    'real.test.mjs': "import test from 'node:test';\ntest('a', () => {});\n",
  });
  const run = (reporter: string, ...files: string[]) =>
    `"${process.execPath}" --test --test-reporter=${reporter} ${files.join(' ')}`;
  const results = await gate(directory, [
    run('tap', 'empty.test.mjs'),
    run('spec', 'empty.test.mjs'),
    run('tap', 'skip.test.mjs'),
    run('spec', 'skip.test.mjs', 'empty.test.mjs'),
    run('tap', 'real.test.mjs', 'empty.test.mjs', 'skip.test.mjs'),
    run('spec', 'real.test.mjs', 'empty.test.mjs'),
  ]);
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    ['vacuous', 'vacuous', 'vacuous', 'vacuous', 'ok', 'ok'],
  );
});

test('a missing package script fails by its exit code', async (context) => {
  const [result] = await gate(folderWith(context, { 'package.json': '{"scripts":{}}' }), ['npm test']);
  assert.equal(result?.outcome, 'failed');
});

test('an open finding rejects; a log without one proves nothing, nor does a missing log', async (context) => {
  const directory = folderWith(context);
  assert.deepEqual(await gate(directory, []), []);
  const log = '.ralph/findings.md';
  writeFiles(directory, {
    [log]: '### FINDING-003: [Bug] Off by one\nStatus: OPEN\n### FINDING-004: x\n### FINDING-005: y\nStatus: WONTFIX\n',
  });
  assert.deepEqual(await gate(directory, []), [
    {
      name: 'findings log',
      outcome: 'failed',
      detail: `3 open: FINDING-003 Off by one, FINDING-004 x (has no Status line), FINDING-005 y (Status WONTFIX is not FIXED_THIS_ITERATION) (in ${log}).`,
      refutesOnly: true,
    },
  ]);
  writeFiles(directory, { [log]: '### FINDING-003: x\nStatus: FIXED_THIS_ITERATION\n' });
  assert.deepEqual(await gate(directory, []), []);
});

test('a findings log that links out of the project, or is not a file, proves nothing', async (context) => {
  const directory = folderWith(context, { 'logs/x.md': '' });
  symlinkSync('/etc/hostname', join(directory, 'out.md'));
  for (const findingsLog of ['../x.md', '/etc/hostname', 'out.md', 'logs']) {
    const { contract } = buildContract(terms(directory, [], { findingsLog }));
    const [result] = await runGate(contract, directory, OPTIONS);
    assert.equal(result?.outcome, 'unavailable', findingsLog);
  }
});

test('a missing project makes the command unavailable and does not fail the gate', async (context) => {
  const directory = folderWith(context);
  const { contract } = buildContract(terms(directory, ['true', 'a\0b']));
  const [gone] = await runGate(contract, join(directory, 'gone'), OPTIONS);
  assert.equal(gone?.outcome, 'unavailable');
  const [, broken] = await runGate(contract, directory, OPTIONS);
  assert.equal(broken?.outcome, 'unavailable');
});
