import { request } from 'node:http';
import { ApiFailure, hasLogin } from './failures.mjs';

/** The tools that make a request one of the main agent. */
const TOOLS = ['Bash', 'Edit', 'Read', 'Write'].map((name) => ({ name }));
/** The default model of an API key, and of a login. */
export const MODEL = hasLogin() ? 'claude-sonnet-5-5' : 'claude-opus-5-5';
const PRICE = {
  input_tokens: 4e-6,
  output_tokens: 20e-6,
  cache_creation_input_tokens: 5e-6,
  cache_read_input_tokens: 4e-7,
};

export const noUsage = () => Object.fromEntries(Object.keys(PRICE).map((kind) => [kind, 0]));
export const plus = (one, other) =>
  Object.fromEntries(Object.keys(PRICE).map((kind) => [kind, one[kind] + (other[kind] ?? 0)]));
export const costOf = (usage) => Object.entries(PRICE).reduce((sum, [kind, price]) => sum + usage[kind] * price, 0);

/** Asks the model for its next message; `began` is that message as a stream would begin it. */
export async function ask(messages, sessionId, signal) {
  const body = JSON.stringify({ model: MODEL, tools: TOOLS, messages });
  const { status, headers, text } = await post(body, sessionId, signal);
  if (status !== 200) throw new ApiFailure({ status, headers, body: JSON.parse(text) });
  const message = JSON.parse(text);
  return { message, began: { ...message, stop_reason: null, usage: { ...message.usage, output_tokens: 1 } } };
}

function post(body, sessionId, signal) {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'x-claude-code-session-id': sessionId };
    const url = `${process.env.ANTHROPIC_BASE_URL}/v1/messages`;
    const sent = request(url, { method: 'POST', headers, signal }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      response
        .on('error', reject)
        .on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    sent.on('error', reject).end(body);
  });
}
