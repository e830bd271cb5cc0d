import { spawnSync } from 'node:child_process';
import manifest from '../../package.json' with { type: 'json' };
import { OLDEST_CLIENT } from '../../src/hosts/claude/claude-code.ts';
import { installed } from '../facts/install.ts';

/**
 * Runs the client tests, or the groups and test files that are named, with the oldest supported client on the oldest
 * supported Node.js: `npm run test:floor`.
 */
const names = process.argv.slice(2);
const oldestNode = manifest.engines.node.replace('>=', '');
const words = ['--yes', `--package=node@${oldestNode}`, 'node', 'tests/tools/run-tests.mjs'];
const { status } = spawnSync('npx', [...words, ...(names.length > 0 ? names : ['client'])], {
  stdio: 'inherit',
  env: { ...process.env, RALPH_TEST_CLAUDE: installed('Claude Code', OLDEST_CLIENT) },
});
process.exit(status ?? 1);
