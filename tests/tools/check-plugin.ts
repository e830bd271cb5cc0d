import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { shellWord } from '../../src/text/quote.ts';
import { clientVersion, findClientBinary } from '../support/client/client-binary.ts';
import { clientEnvironment } from '../support/client/client-environment.ts';
import { createWorkspace } from '../support/client/workspace.ts';
import { until } from '../support/until.ts';

/**
 * Checks the types of the plugin's mod. The declarations are the client's own: it writes them beside a mod that it loads
 * in a terminal, and they are kept for its version.
 */
const TYPES = join('.build', 'plugin-types');

if (!isCurrent()) await writeTypes();
const { status } = spawnSync(process.execPath, [join('node_modules', 'typescript', 'bin', 'tsc'), '-p', 'plugin'], {
  stdio: 'inherit',
});
process.exit(status ?? 1);

function isCurrent(): boolean {
  const file = join(TYPES, 'claude-code', 'index.d.ts');
  return existsSync(file) && readFileSync(file, 'utf8').split('\n', 1)[0]?.includes(` ${clientVersion()}.`) === true;
}

async function writeTypes(): Promise<void> {
  const workspace = createWorkspace();
  const plugin = join(workspace.root, 'plugin');
  cpSync(join('dist', 'plugin'), plugin, { recursive: true });
  const command = [findClientBinary(), '--plugin-dir', plugin].map(shellWord).join(' ');
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: workspace.project,
    // Nothing is asked of a model.
    env: clientEnvironment(workspace, 'http://127.0.0.1:9'),
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const over = new Promise((resolve) => child.once('close', resolve));
  try {
    const made = join(plugin, '.claude-plugin', 'types');
    const files = ['tsconfig.json', ...['', '-tools', '-mcp'].map((name) => `claude-code${name}/index.d.ts`)];
    await until('the client has written its declarations', () => files.every((file) => existsSync(join(made, file))));
    rmSync(TYPES, { recursive: true, force: true });
    mkdirSync(TYPES, { recursive: true });
    cpSync(made, TYPES, { recursive: true });
  } finally {
    child.kill();
    await over;
    workspace.cleanup();
  }
}
