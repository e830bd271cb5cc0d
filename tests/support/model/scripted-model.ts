import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Reply, text, type Usage } from './model-reply.ts';
import type { MessagesBody, ModelRequest, RequestKind } from './model-request.ts';
import { classify, lastUserText, messagesSince, textOf } from './model-request.ts';
import type { Answer, Script } from './model-script.ts';
import { defaultUsage, sendStream, sendWhole, startStream } from './model-stream.ts';

export * from './model-reply.ts';
export * from './model-request.ts';
export * from './model-script.ts';

export type ScriptedModel = {
  /** For ANTHROPIC_BASE_URL. */
  readonly url: string;
  readonly port: number;
  /** Every request in order of arrival, auxiliary ones too. */
  readonly requests: readonly ModelRequest[];
  /** The main agent's requests only. */
  readonly mainRequests: () => readonly ModelRequest[];
  /** Throws when steps were left over or over-run, or when the script itself threw. */
  readonly check: () => void;
  readonly problems: () => readonly string[];
  readonly close: () => Promise<void>;
};

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
};

const parse = (raw: string): MessagesBody | undefined => {
  try {
    const value = JSON.parse(raw) as MessagesBody;
    return Array.isArray(value.messages) ? value : undefined;
  } catch {
    return undefined;
  }
};

const one = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value);

const emptyBody: MessagesBody = { model: '', messages: [] };

const describe = (
  incoming: IncomingMessage,
  body: MessagesBody | undefined,
  kind: RequestKind,
  index: number,
): ModelRequest => {
  const since = body === undefined ? [] : messagesSince(body);
  return {
    index,
    kind,
    at: Date.now(),
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers: incoming.headers,
    body: body ?? emptyBody,
    sessionId: one(incoming.headers['x-claude-code-session-id']),
    agentId: one(incoming.headers['x-claude-code-agent-id']),
    lastUserText: body === undefined ? '' : lastUserText(body),
    since,
    sinceText: since.map(textOf).join('\n'),
  };
};

const harmless: Readonly<Record<'subagent' | 'compaction' | 'auxiliary', Reply>> = {
  subagent: text('The subagent is done.'),
  compaction: text('<summary>Scripted summary of the conversation.</summary>'),
  auxiliary: text('{}'),
};

const answerFor = (script: Script, kind: RequestKind): Answer | undefined => {
  switch (kind) {
    case 'main':
      return script.main;
    case 'subagent':
    case 'compaction':
    case 'auxiliary':
      return script[kind] ?? (() => harmless[kind]);
    case 'count-tokens':
    case 'other':
      return undefined;
    default:
      return kind satisfies never;
  }
};

const json = (
  response: ServerResponse,
  code: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void => {
  response.writeHead(code, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
};

/** A Messages API on 127.0.0.1 that says what the script says. Always `close()` it: it keeps the process alive. */
export const startScriptedModel = async (
  scriptOrAnswer: Script | Answer,
  options: { readonly usage?: Partial<Usage> } = {},
): Promise<ScriptedModel> => {
  const script: Script = typeof scriptOrAnswer === 'function' ? { main: scriptOrAnswer } : scriptOrAnswer;
  const requests: ModelRequest[] = [];
  const failures: string[] = [];
  const timers = new Set<NodeJS.Timeout>();
  let mainCount = 0;

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        resolve();
      }, ms);
      timers.add(timer);
    });

  const applyEffects = async (response: ServerResponse, body: MessagesBody, reply: Reply): Promise<void> => {
    const usage = { ...defaultUsage, ...options.usage };
    switch (reply.kind) {
      case 'message':
        return (body.stream === true ? sendStream : sendWhole)(response, body.model, reply, {
          ...usage,
          ...reply.usage,
        });
      case 'status':
        return json(response, reply.status, reply.body, reply.headers);
      case 'hang':
        if (reply.after === 'start') startStream(response, body.model, usage);
        return;
      case 'delay':
        await pause(reply.ms);
        return response.destroyed ? undefined : applyEffects(response, body, reply.reply);
      default:
        return reply satisfies never;
    }
  };

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = parse(await readBody(incoming));
    const kind = classify(incoming.method ?? '', incoming.url ?? '', incoming.headers, body);
    const request = describe(incoming, body, kind, kind === 'main' ? mainCount++ : -1);
    requests.push(request);
    if (kind === 'count-tokens') return json(response, 200, { input_tokens: defaultUsage.input_tokens });
    const answer = answerFor(script, kind);
    if (answer === undefined || body === undefined) return json(response, incoming.method === 'HEAD' ? 200 : 404, {});
    try {
      await applyEffects(response, body, await answer(request));
    } catch (error) {
      failures.push(`the script threw on main request ${request.index}: ${String(error)}`);
      // 400 is not retried by the client, so the failing test ends at once.
      if (!response.headersSent)
        json(response, 400, { type: 'error', error: { type: 'invalid_request_error', message: String(error) } });
    }
  };

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((error: unknown) => {
      failures.push(`the server failed: ${String(error)}`);
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const port = (server.address() as AddressInfo).port;
  const problems = (): readonly string[] => [...failures, ...(script.problems?.() ?? [])];

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    mainRequests: () => requests.filter((request) => request.kind === 'main'),
    problems,
    check: () => {
      const found = problems();
      if (found.length > 0) throw new Error(`scripted model: ${found.join('; ')}`);
    },
    close: () =>
      new Promise<void>((resolve) => {
        for (const timer of timers) clearTimeout(timer);
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
