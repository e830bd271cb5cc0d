import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMMAND_PATH } from './command-path.ts';
import type { Project } from './project.ts';

/** A `claude` that only knows its version; gives the environment in which it is found. */
export function fakeClient(p: Project, version = '2.1.330'): NodeJS.ProcessEnv {
  const bin = join(p.home, `bin-${version}`);
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'claude'), `#!/bin/sh\necho "${version} (Claude Code)"\n`, { mode: 0o755 });
  return { PATH: `${bin}:${COMMAND_PATH}` };
}
