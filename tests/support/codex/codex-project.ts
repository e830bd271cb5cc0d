import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inLoopProject, type LoopProject, type LoopProjectOptions } from '../client/loop-project.ts';
import { killTree } from '../client/process-tree.ts';
import { type RunnerOptions, type RunningRunner, startRunner } from '../client/runner.ts';
import type { Workspace } from '../client/workspace.ts';
import { steps } from '../model/scripted-model.ts';
import { type ResponsesModel, startResponsesModel } from './responses-model.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');
/** npm's wrapper, as a user's PATH has it, or that of another installed Codex. */
export const CODEX = process.env['RALPH_TEST_CODEX'] ?? join(root, 'node_modules/@openai/codex/bin/codex.js');

/** Tools of the model: a shell alone, with the tool apply_patch, or as functions of programs that it writes. */
export type Tools = 'shell' | 'patch' | 'code';

export interface CodexProject extends Omit<LoopProject, 'model' | 'start' | 'run'> {
  readonly model: ResponsesModel;
  /** CODEX_HOME: outside of /tmp, where Codex has no sandbox. */
  readonly codexHome: string;
  /** Starts `ralph-loop run --agent codex` with these words; its events are JSON. */
  readonly begin: (words?: readonly string[], options?: RunnerOptions) => RunningRunner;
  /** Starts one headless session that its Stop hook continues. */
  readonly session: (words?: readonly string[], options?: RunnerOptions) => RunningRunner;
}

/** Writes a configuration that needs no account: a provider on loopback, and a model with the wanted tools. */
function configure(home: string, url: string, project: string, tools: Tools): void {
  const lines = [
    `model = "mock-${tools}"`,
    'model_provider = "mock"',
    ...(tools === 'shell' ? [] : [`model_catalog_json = ${JSON.stringify(catalogIn(home))}`]),
    '[features]',
    'plugins = false',
    '[model_providers.mock]',
    'name = "mock"',
    `base_url = ${JSON.stringify(url)}`,
    'wire_api = "responses"',
    'env_key = "MOCK_KEY"',
    'request_max_retries = 0',
    'stream_max_retries = 1',
    `[projects.${JSON.stringify(project)}]`,
    'trust_level = "trusted"',
  ];
  writeFileSync(join(home, 'config.toml'), `${lines.join('\n')}\n`);
}

/** Writes a catalog with two models of the client's own under other names, and returns its path. */
function catalogIn(home: string): string {
  const env = { PATH: process.env['PATH'], CODEX_HOME: home, HOME: home };
  const text = execFileSync(process.execPath, [CODEX, 'debug', 'models', '--bundled'], {
    env,
    encoding: 'utf8',
    stdio: 'pipe',
  });
  const { models } = JSON.parse(text) as { models: { slug: string; tool_mode?: string }[] };
  const named = (slug: string, mode: string | undefined) => ({
    ...models.find(({ tool_mode }) => tool_mode === mode),
    slug,
  });
  const path = join(home, 'catalog.json');
  writeFileSync(
    path,
    JSON.stringify({ models: [named('mock-patch', undefined), named('mock-code', 'code_mode_only')] }),
  );
  return path;
}

/** A project whose loop runs the real Codex against a scripted model; taken away when the body is done. */
export async function inCodexProject(
  options: Omit<LoopProjectOptions, 'standIn'> & { readonly tools?: Tools },
  script: Parameters<typeof startResponsesModel>[0],
  body: (project: CodexProject) => Promise<void>,
): Promise<void> {
  const model = await startResponsesModel(script);
  mkdirSync(join(root, '.build'), { recursive: true });
  const codexHome = mkdtempSync(join(root, '.build', 'codex-home-'));
  const started = new Set<number>();
  try {
    await inLoopProject({ init: false, ...options }, steps([]), async (project) => {
      configure(codexHome, model.url, project.workspace.project, options.tools ?? 'shell');
      // Each start of Codex asks it twice for the system's name, and Debian's is a script that starts twenty processes.
      symlinkSync('/bin/false', join(project.workspace.binDir, 'lsb_release'));
      const own = { CODEX_HOME: codexHome, RALPH_CODEX: CODEX, MOCK_KEY: 'any' };
      const codex: LoopProject = { ...project, environment: (changes) => project.environment({ ...own, ...changes }) };
      const begin: CodexProject['begin'] = (words = [], own = {}) => {
        const running = startRunner(codex, { ...own, args: ['--agent', 'codex', ...words] });
        started.add(running.pid);
        return running;
      };
      const command = ['start', '--launch', '--headless'];
      const session: CodexProject['session'] = (words, own) => begin(words, { ...own, command, json: false });
      await body({ ...codex, model, codexHome, begin, session });
    });
  } finally {
    for (const pid of started) killTree(pid);
    await model.close();
    rmSync(codexHome, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** Writes a wrapper of a form that the product does not know: a SIGKILL ends it without the client behind it. */
export function wrapperIn(workspace: Workspace): string {
  return workspace.write('../wrapper.sh', `#!/bin/sh\n'${process.execPath}' '${CODEX}' "$@"\n`, 0o755);
}
