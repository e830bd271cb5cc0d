import { spawnSync } from 'node:child_process';
import xterm from '@xterm/headless';
import { fakeClient } from '../fake-client.ts';
import { DIST, type Project } from '../project.ts';
import { TEST_TIMEOUT_MS } from '../until.ts';

/** A line that a terminal shows, and whether the terminal had to break it. */
export interface ShownLine {
  readonly text: string;
  readonly broken: boolean;
}

/**
 * Runs a shell script in a terminal of so many columns, and returns every line of its scroll-back and screen; `$RALPH`
 * runs main.cjs. What is typed is there from the beginning.
 */
export async function shownRows(
  p: Pick<Project, 'dir' | 'home' | 'env'>,
  script: string,
  columns: number,
  typed = '',
): Promise<ShownLine[]> {
  const { stdout, status, error } = spawnSync(
    'script',
    ['-qec', `stty -echo cols ${columns} rows 50\n${script}`, '/dev/null'],
    {
      cwd: p.dir,
      env: {
        ...{ ...p.env, ...fakeClient(p as Project) },
        ...{ TERM: 'xterm-256color', SHELL: '/bin/sh', RALPH: `${process.execPath} ${DIST}/scripts/main.cjs` },
      },
      encoding: 'utf8',
      input: typed,
      timeout: TEST_TIMEOUT_MS,
    },
  );
  if (status === null) throw error ?? new Error(`the script did not end:\n${stdout}`);
  const terminal = new xterm.Terminal({ cols: columns, rows: 50, scrollback: 20_000, allowProposedApi: true });
  await new Promise<void>((resolve) => terminal.write(stdout, resolve));
  const buffer = terminal.buffer.active;
  const lines: ShownLine[] = [];
  for (let row = 0; row < buffer.length; row++) {
    const line = buffer.getLine(row);
    // Only the last row of a broken line has trailing blanks that are none of its text.
    const text = line?.translateToString(buffer.getLine(row + 1)?.isWrapped !== true) ?? '';
    const before = lines.at(-1);
    if (line?.isWrapped && before) lines.splice(-1, 1, { text: before.text + text, broken: true });
    else lines.push({ text, broken: false });
  }
  while (lines.at(-1)?.text === '') lines.pop();
  return lines;
}
