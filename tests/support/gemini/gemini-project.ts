import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inLoopProject, type LoopProject, type LoopProjectOptions } from '../client/loop-project.ts';
import { killTree } from '../client/process-tree.ts';
import { type RunningRunner, startRunner } from '../client/runner.ts';
import { steps } from '../model/scripted-model.ts';

/** The pinned client, as npm installs it. */
export const GEMINI = join(
  dirname(fileURLToPath(import.meta.url)),
  '../../../node_modules/@google/gemini-cli/bundle/gemini.js',
);

/** A part of the model's answer: `{ text }`, or `{ functionCall: { name, args } }`. */
type Part = { readonly text: string } | { readonly functionCall: { readonly name: string; readonly args: object } };

/** The model ends its turn with this text. */
export const say = (text: string): Part => ({ text });
/** The model calls a tool. */
export const call = (name: string, args: object): Part => ({ functionCall: { name, args } });
export const shell = (command: string, more: object = {}): Part => call('run_shell_command', { command, ...more });

/** What the model does at a request; a rate limit names the time after which to try again. */
export type GeminiReply = Part | 'hang' | 'rate-limit';

const RATE_LIMIT = {
  code: 429,
  message: 'Resource has been exhausted. Please retry in 1.5s.',
  status: 'RESOURCE_EXHAUSTED',
  details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1.5s' }],
};

export interface GeminiProject extends LoopProject {
  /** The conversation of each request, as JSON text. */
  readonly requests: readonly string[];
  /** Starts one headless session that its AfterAgent hook continues. */
  readonly session: (words?: readonly string[]) => RunningRunner;
}

/** A project whose loop runs the real Gemini CLI against a model on loopback that is scripted, one part a request, or a function. */
export const inGeminiProject = async (
  options: Omit<LoopProjectOptions, 'standIn'>,
  script: readonly Part[] | ((bytes: number) => GeminiReply),
  body: (project: GeminiProject) => Promise<void>,
): Promise<void> => {
  const requests: string[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const asked = Buffer.concat(chunks);
    const { contents } = JSON.parse(asked.toString()) as { readonly contents: unknown };
    const count = requests.push(JSON.stringify(contents));
    const reply = typeof script === 'function' ? script(asked.length) : script[count - 1];
    if (reply === 'hang') return;
    if (reply === 'rate-limit') {
      response.writeHead(429, { 'content-type': 'application/json' }).end(JSON.stringify({ error: RATE_LIMIT }));
      return;
    }
    const part = reply ?? say('The script is over.');
    const usage = { promptTokenCount: 1000, cachedContentTokenCount: 100, candidatesTokenCount: 20 };
    const content = { role: 'model', parts: [part] };
    const answer = { candidates: [{ content, finishReason: 'STOP', index: 0 }], usageMetadata: usage };
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(answer)}\n\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const started: number[] = [];
  try {
    await inLoopProject({ init: false, ...options }, steps([]), async (project) => {
      const own = {
        RALPH_GEMINI: GEMINI,
        GEMINI_API_KEY: 'any',
        GEMINI_DEFAULT_AUTH_TYPE: 'gemini-api-key',
        GOOGLE_GEMINI_BASE_URL: url,
        // Otherwise it asks another model first which one is to answer.
        GEMINI_MODEL: 'gemini-2.5-pro',
        GEMINI_CLI_TRUST_WORKSPACE: 'true',
        GEMINI_CLI_NO_RELAUNCH: 'true',
      };
      const gemini: LoopProject = {
        ...project,
        environment: (changes) => project.environment({ ...own, ...changes }),
        main: (words, env) => project.main(words, { ...own, ...env }),
      };
      const session: GeminiProject['session'] = (words = []) => {
        const command = ['start', '--launch', '--headless'];
        const running = startRunner(gemini, { command, json: false, args: ['--agent', 'gemini', ...words] });
        started.push(running.pid);
        return running;
      };
      await body({ ...gemini, requests, session });
    });
  } finally {
    for (const pid of started) killTree(pid);
    server.close();
    server.closeAllConnections();
  }
};
