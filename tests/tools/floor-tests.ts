import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { OLDEST_CLIENT } from '../../src/hosts/claude/find-client.ts';

/**
 * Runs the client tests, or the test files that are named, with the oldest supported client: `npm run test:floor`.
 * The client is installed once, in the user's cache folder.
 */
const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
const folder = join(cache, 'ralph-loop', `claude-code-${OLDEST_CLIENT}`);
const program = process.platform === 'win32' ? 'claude.exe' : 'claude';
const packages = join(folder, 'node_modules', '@anthropic-ai');
const client = join(packages, `claude-code-${process.platform}-${process.arch}`, program);

if (!existsSync(client)) {
  mkdirSync(folder, { recursive: true });
  console.log(`Installing Claude Code ${OLDEST_CLIENT} in ${folder} …`);
  const words = ['install', '--prefix', folder, '--no-save', `@anthropic-ai/claude-code@${OLDEST_CLIENT}`];
  const { status } = spawnSync('npm', words, { stdio: 'inherit', shell: process.platform === 'win32' });
  if (status !== 0) process.exit(status ?? 1);
}
const files = process.argv.slice(2);
const { status } = spawnSync(
  process.execPath,
  ['tests/tools/run-tests.mjs', ...(files.length > 0 ? files : ['client'])],
  {
    stdio: 'inherit',
    env: { ...process.env, RALPH_TEST_CLAUDE: client },
  },
);
process.exit(status ?? 1);
