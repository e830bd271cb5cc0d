import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DIST } from '../support/project.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { version, name } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

test('the packed program installs into an empty prefix and runs by npx, with and without a project', (t) => {
  const base = mkdtempSync(join(tmpdir(), 'ralph-package-'));
  t.after(() => rmSync(base, { recursive: true, force: true }));
  const [empty, project, prefix] = ['empty', 'project', 'prefix'].map((folder) => join(base, folder)) as [
    string,
    string,
    string,
  ];
  for (const folder of [empty, project]) mkdirSync(folder);
  const env = {
    PATH: process.env['PATH'],
    HOME: base,
    XDG_STATE_HOME: join(base, 'state'),
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
  };
  const run = (cwd: string, program: string, ...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: 'utf8' });
    assert.equal(status, 0, `${program} ${args.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  };
  // Without its scripts: they would build dist/ under the other tests.
  run(root, 'npm', 'pack', '--ignore-scripts', '--pack-destination', base);
  const tarball = join(base, `${name}-${version}.tgz`);
  assert.ok(statSync(tarball).size <= 2_000_000, `${statSync(tarball).size} bytes`);

  run(empty, 'npm', 'install', '--global', '--prefix', prefix, tarball);
  assert.equal(run(empty, join(prefix, 'bin', 'ralph-loop'), '--version').trim(), version);
  symlinkSync(join(DIST, 'bin'), join(base, 'of plugin'));
  symlinkSync('../of plugin/ralph-loop', join(empty, 'link'));
  assert.equal(run(base, 'empty/link', '--version').trim(), version);

  const npx = (cwd: string, ...args: string[]) =>
    run(cwd, 'npx', '--yes', `--package=${tarball}`, 'ralph-loop', ...args);
  assert.equal(npx(empty, '--version').trim(), version);
  assert.match(npx(empty, '--help'), /run .*\n/);
  writeFileSync(
    join(project, 'agent.sh'),
    '#!/bin/sh\ncat > /dev/null\ntouch done.txt\necho "<promise>DONE</promise>"\n',
    { mode: 0o755 },
  );
  mkdirSync(join(project, 'job'));
  writeFileSync(
    join(project, 'job', 'RALPH.md'),
    '---\ncompletion_promise: DONE\nvalidation: ["test -f done.txt"]\nopen_questions: optional\nmax_iterations: 3\n---\n\nMake done.txt.\n',
  );
  run(project, 'git', 'init', '-q');
  npx(project, 'run', 'job', '--agent', './agent.sh', '--yes');
});

/** Functions of newer versions of Node.js than the oldest that package.json allows, by which a result could differ. */
const TOO_NEW =
  /\b(?:getBuiltinModule|globSync|enableCompileCache|withResolvers|fromAsync|groupBy|isSubsetOf|crc32)\b/g;

test('the program consists of ASCII, as which it is read', () => {
  for (const file of readdirSync(join(DIST, 'scripts'))) {
    const lines = readFileSync(join(DIST, 'scripts', file), 'utf8').split('\n');
    const odd = lines.flatMap((line) => /.{0,30}[^\0-\x7f].{0,30}/.exec(line)?.[0] ?? []);
    assert.deepEqual(odd, [], file);
  }
});

test('a chunk has every value that it exports once it is loaded, and few of them by a getter', () => {
  const load = createRequire(import.meta.url);
  for (const file of readdirSync(join(DIST, 'scripts')).filter((name) => name.startsWith('ralph-'))) {
    const fields = Object.entries(Object.getOwnPropertyDescriptors(load(join(DIST, 'scripts', file)) as object));
    const missing = fields.filter(([, { get, value }]) => get === undefined && value === undefined);
    assert.deepEqual(missing, [], file);
    assert.ok(fields.filter(([, { get }]) => get !== undefined).length <= 6, file);
  }
});

test('a tool hook loads no texts of a Stop or a start; control: the chunk of the other hooks has them', () => {
  const text = (chunk: string): string => readFileSync(join(DIST, 'scripts', `ralph-${chunk}.cjs`), 'utf8');
  for (const chunk of ['tools', 'base', 'rules', 'shell']) assert.doesNotMatch(text(chunk), /\botherTerms:/, chunk);
  assert.match(text('hooks'), /\botherTerms:/);
});

test('the program calls nothing that the oldest supported Node.js lacks', () => {
  for (const folder of ['scripts', 'hooks']) {
    const files = readdirSync(join(DIST, folder)).filter((file) => file.endsWith('.cjs'));
    assert.ok(files.length > 1, folder);
    for (const file of files) {
      assert.deepEqual(readFileSync(join(DIST, folder, file), 'utf8').match(TOO_NEW) ?? [], [], file);
    }
  }
});

test('the version is the same in package, plugin, skills and program', () => {
  const plugin = JSON.parse(readFileSync(join(DIST, '.claude-plugin', 'plugin.json'), 'utf8'));
  const market = JSON.parse(readFileSync(join(dirname(DIST), '.claude-plugin', 'marketplace.json'), 'utf8'));
  assert.equal(plugin.version, version);
  assert.equal(market.plugins[0].version, undefined, 'an older one there would hold every user back');
  const skill = readFileSync(join(DIST, 'skills', 'ralph-loop', 'SKILL.md'), 'utf8');
  assert.match(skill, new RegExp(`version: "${version}"`));
  const { stdout } = spawnSync(process.execPath, [join(DIST, 'scripts', 'main.cjs'), '--version'], {
    encoding: 'utf8',
  });
  assert.equal(stdout.trim(), version);
});

test('the licences of all packages that the program contains come with it', () => {
  const meta = JSON.parse(readFileSync(join(root, '.build', 'meta.json'), 'utf8')) as {
    outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }>;
  };
  const packages = new Set(
    Object.values(meta.outputs).flatMap(({ inputs }) =>
      Object.keys(inputs).flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []),
    ),
  );
  const text = readFileSync(join(DIST, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  assert.ok(packages.has('zod') && packages.has('yaml'), [...packages].join());
  for (const name of ['zod', 'yaml', 'unbash', 'picomatch', 'proper-lockfile', 'get-east-asian-width']) {
    assert.match(text, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\((?:MIT|ISC)\\)$`, 'm'));
  }
  assert.match(text, /Permission is hereby granted, free of charge/);
});
