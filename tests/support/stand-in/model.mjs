import { request } from 'node:http';

/** The tools that make a request one of the main agent. */
const TOOLS = ['Bash', 'Edit', 'Read', 'Write'].map((name) => ({ name }));
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
  const body = JSON.stringify({ model: 'claude-opus-5-5', tools: TOOLS, messages });
  const { status, text } = await post(body, sessionId, signal);
  if (status !== 200) throw new Error(`the model answered ${status}, and the stand-in knows no error of it: ${text}`);
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
      response.on('error', reject).on('end', () => resolve({ status: response.statusCode, text }));
    });
    sent.on('error', reject).end(body);
  });
}
