import { spawnSync } from 'node:child_process';
import { OLDEST_CLIENT } from '../../src/hosts/claude/find-client.ts';
import { installed } from '../facts/install.ts';

/** Runs the client tests, or the test files that are named, with the oldest supported client: `npm run test:floor`. */
const files = process.argv.slice(2);
const { status } = spawnSync(
  process.execPath,
  ['tests/tools/run-tests.mjs', ...(files.length > 0 ? files : ['client'])],
  {
    stdio: 'inherit',
    env: { ...process.env, RALPH_TEST_CLAUDE: installed('Claude Code', OLDEST_CLIENT) },
  },
);
process.exit(status ?? 1);
