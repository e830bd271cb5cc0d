import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { OLDEST_CLIENT } from '../../src/hosts/claude/claude-code.ts';
import { OLDEST_CODEX } from '../../src/hosts/codex/codex.ts';
import { atLeast } from '../../src/text/version.ts';
import { CLIENTS, type ClientName, installed, newest } from './install.ts';
import { judge, readStored, STORED, type Stored, versionsOf } from './stored.ts';

/**
 * Judges releases of clients: measures the facts of probes in tests/facts/list.ts, compares them with those of the version
 * before, and stores them for docs/clients.md. `--client NAME` and versions limit what is measured; the default is the oldest
 * supported, the pinned and the newest version of each client. Exits with 1 if a fact does not hold that the product relies on.
 */
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const { values, positionals } = parseArgs({
  options: { client: { type: 'string' }, version: { type: 'string', multiple: true } },
  allowPositionals: true,
});
const OLDEST: Readonly<Record<ClientName, string>> = { 'Claude Code': OLDEST_CLIENT, Codex: OLDEST_CODEX };

function pinned(name: ClientName): string {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  return devDependencies[CLIENTS[name].package] ?? '';
}

function measured(name: ClientName, version: string): Readonly<Record<string, string>> {
  const env =
    version === pinned(name) ? process.env : { ...process.env, [CLIENTS[name].variable]: installed(name, version) };
  const words = ['--import', 'tsx', 'tests/facts/measure.ts', name];
  const { status, stdout } = spawnSync(process.execPath, words, {
    cwd: root,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`${name} ${version} could not be measured`);
  const found = JSON.parse(stdout) as { readonly version: string; readonly facts: Readonly<Record<string, string>> };
  // A variable of the user may name another client.
  if (!found.version.includes(version)) throw new Error(`${name}: ${found.version} was measured, not ${version}`);
  return found.facts;
}

let stored: Stored = readStored();
let failed = false;
const named = [...(values.version ?? []), ...positionals];
const clients = (Object.keys(CLIENTS) as ClientName[]).filter((name) => (values.client ?? name) === name);
if (clients.length === 0) throw new Error(`--client: ${Object.keys(CLIENTS).join(' or ')}`);
if (named.length > 0 && clients.length > 1) throw new Error('name the client of the versions with --client');
for (const name of clients) {
  const usual = [OLDEST[name], pinned(name), newest(name) ?? pinned(name)];
  for (const version of new Set(named.length > 0 ? named : usual)) {
    const facts = measured(name, version);
    const before = versionsOf(stored, name).findLast((each) => each === version || !atLeast(each, version));
    const { broken, changed } = judge(name, before === undefined ? undefined : stored[name]?.[before], facts);
    console.log(
      `${name} ${version}: ${Object.keys(facts).length} facts${before === undefined ? '' : `, compared with ${before}`}`,
    );
    for (const line of changed) console.log(`  changed: ${line}`);
    for (const line of broken) console.log(`  BROKEN: ${line}`);
    failed ||= broken.length > 0;
    stored = { ...stored, [name]: { ...stored[name], [version]: facts } };
    writeFileSync(STORED, `${JSON.stringify(stored, null, 2)}\n`);
  }
}
spawnSync('npm', ['run', '--silent', 'docs'], { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' });
process.exitCode = failed ? 1 : 0;
