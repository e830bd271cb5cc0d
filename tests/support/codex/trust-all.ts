import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { CODEX } from './codex-project.ts';

interface Listed {
  readonly key: string;
  readonly currentHash: string;
}

/** Trusts every hook as the user does with `/hooks`: reads the hashes from Codex and has it write them. */
export async function trustAll(env: NodeJS.ProcessEnv, cwd: string): Promise<void> {
  const server = spawn(process.execPath, [CODEX, 'app-server'], { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
  const waiting = new Map<unknown, (result: unknown) => void>();
  createInterface({ input: server.stdout }).on('line', (line) => {
    const { id, result } = JSON.parse(line) as { readonly id?: number; readonly result?: unknown };
    waiting.get(id)?.(result);
  });
  let id = 0;
  const ask = (method: string, params: object): Promise<unknown> => {
    id += 1;
    const answered = new Promise((resolve) => waiting.set(id, resolve));
    server.stdin.write(`${JSON.stringify({ id, method, params })}\n`);
    return answered;
  };
  try {
    await ask('initialize', {
      clientInfo: { name: 'test', title: 'test', version: '1' },
      capabilities: { experimentalApi: true },
    });
    server.stdin.write(`${JSON.stringify({ method: 'initialized' })}\n`);
    const { data } = (await ask('hooks/list', { cwds: [cwd] })) as { readonly data: readonly { hooks: Listed[] }[] };
    const edits = (data[0]?.hooks ?? []).map(({ key, currentHash }) => {
      return { keyPath: 'hooks.state', value: { [key]: { trusted_hash: currentHash } }, mergeStrategy: 'upsert' };
    });
    await ask('config/batchWrite', { edits, filePath: null, expectedVersion: null, reloadUserConfig: true });
  } finally {
    const closed = new Promise((resolve) => server.once('close', resolve));
    server.stdin.end();
    server.kill();
    await closed;
  }
}
