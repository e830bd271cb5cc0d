import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One item that a model adds to its response. */
export type Item = { readonly type: string; readonly [key: string]: unknown };

export type ResponsesReply =
  | { readonly kind: 'items'; readonly items: readonly Item[] }
  | { readonly kind: 'status'; readonly status: number; readonly body: unknown }
  /** An error inside the stream. */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /** The request is never answered. */
  | { readonly kind: 'hang' };

export interface ResponsesRequest {
  readonly index: number;
  /** The whole conversation that the client sent, as JSON text. */
  readonly input: string;
  /** Of the whole body as it was sent. */
  readonly bytes: number;
}

export interface ResponsesModel {
  readonly url: string;
  readonly requests: readonly ResponsesRequest[];
  readonly close: () => Promise<void>;
}

let calls = 0;

/** Returns an identifier that no other call of this process has. */
const nextCall = (): string => `call_${++calls}`;

const items = (...all: Item[]): ResponsesReply => ({ kind: 'items', items: all });

/** The model ends its turn with this text. */
export const say = (text: string): ResponsesReply =>
  items({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] });

/** The model runs a command; `more` are further arguments, such as `tty`. */
export const shell = (cmd: string, more: Readonly<Record<string, unknown>> = {}): ResponsesReply =>
  call('exec_command', { cmd, ...more });

/** Commands whose end the model waits for, by their calls; the client itself waits for 30 seconds at most. */
const awaited = new Set<string>();

/** The model runs a command and waits for its end, however long the machine takes. */
export const shellToEnd = (cmd: string): ResponsesReply => awaiting(shell(cmd, { yield_time_ms: LONGEST_YIELD_MS }));

const LONGEST_YIELD_MS = 30_000;

function awaiting(reply: ResponsesReply): ResponsesReply {
  if (reply.kind === 'items') for (const { call_id } of reply.items) awaited.add(String(call_id));
  return reply;
}

/** The wait for a command that still runs, if the last item of a conversation says so of one that is awaited. */
function furtherWait(input: unknown): ResponsesReply | null {
  const last = (Array.isArray(input) ? input.at(-1) : null) as Item | null;
  if (last?.type !== 'function_call_output' || !awaited.has(String(last['call_id']))) return null;
  const [, session] = /running with session ID (\d+)/.exec(JSON.stringify(last['output'])) ?? [];
  if (session === undefined) return null;
  const wait = { session_id: Number(session), chars: '', yield_time_ms: LONGEST_YIELD_MS };
  return awaiting(call('write_stdin', wait));
}

/** The model calls one of its functions. */
export const call = (name: string, input: object): ResponsesReply =>
  items({ type: 'function_call', call_id: nextCall(), name, arguments: JSON.stringify(input) });

/** The model writes a program for its tool `exec`, as newer models do: `await tools.apply_patch("…")`. */
export const code = (input: string): ResponsesReply =>
  items({ type: 'custom_tool_call', call_id: nextCall(), name: 'exec', input });

/** The model calls its tool `apply_patch`. */
export const patch = (input: string): ResponsesReply =>
  items({ type: 'custom_tool_call', call_id: nextCall(), name: 'apply_patch', input });

export const status = (code: number, body: unknown): ResponsesReply => ({ kind: 'status', status: code, body });

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
};

const USAGE = {
  input_tokens: 1000,
  input_tokens_details: { cached_tokens: 100 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 1020,
};

const send = (
  response: ServerResponse,
  events: readonly { readonly type: string; readonly [key: string]: unknown }[],
): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
};

const created = (id: string) => ({ type: 'response.created', response: { id } });
const completed = (id: string) => ({ type: 'response.completed', response: { id, usage: USAGE } });

const answer = (response: ServerResponse, reply: ResponsesReply, index: number): void => {
  const id = `resp_${index}`;
  switch (reply.kind) {
    case 'items': {
      const done = reply.items.map((item, at) => ({ type: 'response.output_item.done', output_index: at, item }));
      send(response, [created(id), ...done, completed(id)]);
      break;
    }
    case 'failed': {
      const error = { code: reply.code, message: reply.message };
      send(response, [{ type: 'response.failed', response: { id, error } }]);
      break;
    }
    case 'status':
      response.writeHead(reply.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(reply.body));
      break;
    case 'hang':
      break;
    default:
      reply satisfies never;
  }
};

/**
 * A Responses API on 127.0.0.1 that says what `script` says: a list of replies, one a request, or a function of the request.
 * A request after which an awaited command still runs is no request of the script: it waits again.
 * After the end of a list the request fails with 400, which the client does not retry. Always `close()` it.
 */
export const startResponsesModel = async (
  script: readonly ResponsesReply[] | ((request: ResponsesRequest) => ResponsesReply | Promise<ResponsesReply>),
): Promise<ResponsesModel> => {
  const requests: ResponsesRequest[] = [];
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(incoming);
    const { input } = JSON.parse(body || '{}') as { input?: unknown };
    const request = { index: requests.length, input: JSON.stringify(input), bytes: Buffer.byteLength(body) };
    const wait = furtherWait(input);
    if (wait !== null) return answer(response, wait, request.index);
    requests.push(request);
    const reply = typeof script === 'function' ? await script(request) : script[request.index];
    answer(response, reply ?? status(400, { error: { message: 'the script is over' } }), request.index);
  };
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(400).end(String(error));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
