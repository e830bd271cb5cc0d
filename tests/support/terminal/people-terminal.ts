import type { TestContext } from 'node:test';
import { fakeClient } from '../fake-client.ts';
import { DIST, type Project } from '../project.ts';
import { startTerminal, type Terminal } from './terminal.ts';

/** A shell script as a person sees it, in a terminal in the project; `$RALPH` runs main.cjs. */
export async function peopleTerminal(
  context: TestContext,
  p: Project,
  script: string,
  more: Record<string, string> = {},
  columns = 200,
): Promise<Terminal> {
  const env = { ...p.env, ...fakeClient(p), RALPH: `${process.execPath} ${DIST}/scripts/main.cjs`, ...more };
  const opened = await startTerminal({
    command: '/bin/sh',
    args: ['-c', script],
    env: env as Record<string, string>,
    cwd: p.dir,
    columns,
    rows: 60,
  });
  context.after(() => opened.close());
  return opened;
}
