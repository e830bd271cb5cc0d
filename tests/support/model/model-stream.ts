import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessageReply, ReplyBlock, Usage } from './model-reply.ts';

export const defaultUsage: Usage = {
  input_tokens: 100,
  output_tokens: 20,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
};

let serial = 0;
const identified = (prefix: string): string => `${prefix}_scripted_${process.pid}_${++serial}`;

const finished = (block: ReplyBlock): Record<string, unknown> =>
  block.type === 'text'
    ? { type: 'text', text: block.text }
    : { type: 'tool_use', id: block.id ?? identified('toolu'), name: block.name, input: block.input };

const stopReason = (reply: MessageReply): string =>
  reply.stopReason ?? (reply.blocks.some((block) => block.type === 'tool_use') ? 'tool_use' : 'end_turn');

/** Writes events; the caller ends the response (or leaves it open to hang). */
const eventWriter = (response: ServerResponse, headers: Readonly<Record<string, string>>) => {
  response.writeHead(200, { ...headers, 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  return (type: string, data: Readonly<Record<string, unknown>>): void => {
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  };
};

const emptyMessage = (model: string, usage: Usage): Record<string, unknown> => ({
  id: identified('msg'),
  type: 'message',
  role: 'assistant',
  model,
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { ...usage, output_tokens: 1 },
});

export const startStream = (
  response: ServerResponse,
  model: string,
  usage: Usage,
  headers: Readonly<Record<string, string>> = {},
) => {
  const send = eventWriter(response, headers);
  send('message_start', { message: emptyMessage(model, usage) });
  return send;
};

/** The pieces in which a block comes. */
const piecesOf = (block: Record<string, unknown>, reply: MessageReply): Record<string, unknown>[] => {
  if (block['type'] !== 'text') return [{ type: 'input_json_delta', partial_json: JSON.stringify(block['input']) }];
  const text = String(block['text']);
  const pieces = reply.wordMs === undefined ? [text] : text.split(/(?<=\s)(?=\S)/);
  return pieces.map((piece) => ({ type: 'text_delta', text: piece }));
};

export const sendStream = async (
  response: ServerResponse,
  model: string,
  reply: MessageReply,
  usage: Usage,
): Promise<void> => {
  const send = startStream(response, model, usage, reply.headers);
  for (const [index, block] of reply.blocks.map(finished).entries()) {
    const opened = block['type'] === 'text' ? { type: 'text', text: '' } : { ...block, input: {} };
    send('content_block_start', { index, content_block: opened });
    const pieces = piecesOf(block, reply);
    for (const [nth, delta] of pieces.entries()) {
      if (nth > 0) await sleep(reply.wordMs);
      while (nth === pieces.length >> 1 && reply.goesOn?.() === false && !response.destroyed) await sleep(20);
      if (response.destroyed) return;
      send('content_block_delta', { index, delta });
    }
    send('content_block_stop', { index });
  }
  send('message_delta', { delta: { stop_reason: stopReason(reply), stop_sequence: null }, usage });
  send('message_stop', {});
  response.end();
};

export const sendWhole = (response: ServerResponse, model: string, reply: MessageReply, usage: Usage): void => {
  response.writeHead(200, { ...reply.headers, 'content-type': 'application/json' });
  response.end(
    JSON.stringify({
      ...emptyMessage(model, usage),
      content: reply.blocks.map(finished),
      stop_reason: stopReason(reply),
      usage,
    }),
  );
};
