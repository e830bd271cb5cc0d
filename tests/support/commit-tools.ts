import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Real programs that judge commits, installed once in the user's cache folder: together they have 40 MB. */
const PACKAGES = [
  'husky@9.1.7',
  'lefthook@2.0.4',
  '@commitlint/cli@19.8.1',
  '@commitlint/config-conventional@19.8.1',
] as const;

/** Returns the folder of node_modules with these programs. Throws if npm cannot install them. */
export function commitTools(): string {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const folder = join(cache, 'ralph-loop', `commit-tools-${PACKAGES.join('-').replace(/[^\w.-]+/g, '_')}`);
  const modules = join(folder, 'node_modules');
  if (existsSync(join(modules, '.bin', 'commitlint'))) return modules;
  mkdirSync(folder, { recursive: true });
  // Without scripts: that of lefthook installs hooks into the repository of the current folder.
  const words = [
    'install',
    '--prefix',
    folder,
    '--ignore-scripts',
    '--no-save',
    '--no-audit',
    '--no-fund',
    // Without a network it fails soon, not after five minutes.
    '--fetch-retries=1',
    '--fetch-timeout=60000',
    ...PACKAGES,
  ];
  const certificates = process.env['RALPH_TEST_CA_CERTS'];
  const { status, stderr } = spawnSync('npm', words, {
    cwd: folder,
    env: { ...process.env, ...(certificates && { NODE_EXTRA_CA_CERTS: certificates }) },
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error(`npm could not install ${PACKAGES.join(', ')}: ${stderr}`);
  return modules;
}
