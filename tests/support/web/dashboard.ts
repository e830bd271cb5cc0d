import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { DIST, type Project } from '../project.ts';

export interface ServedDashboard {
  readonly url: string;
  readonly origin: string;
  readonly stop: () => void;
}

/** Starts the dashboard of a project; the end of the test ends it. */
export async function dashboard(t: TestContext, p: Project, ...options: string[]): Promise<ServedDashboard> {
  const words = [join(DIST, 'scripts', 'main.cjs'), 'dashboard', '--json', ...options];
  const child = spawn(process.execPath, words, { cwd: p.dir, env: p.env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const { url } = JSON.parse(line.toString()) as { url: string };
  return { url, origin: new URL(url).origin, stop: () => child.kill('SIGKILL') };
}
