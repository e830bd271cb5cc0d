import { spawnSync } from 'node:child_process';
import { installPrograms, TOOLCHAINS } from '../support/programs.ts';

/** `npm run test:projects`: drafts and loops in ten kinds of projects, with the real cargo and go. */
installPrograms(TOOLCHAINS);
const { status } = spawnSync(process.execPath, ['tests/tools/run-tests.mjs', 'tests/scenarios/ten-projects.test.ts'], {
  stdio: 'inherit',
  env: { ...process.env, RALPH_TEST_TOOLCHAINS: '1' },
});
process.exit(status ?? 1);
