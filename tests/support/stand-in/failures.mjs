import { setTimeout as sleep } from 'node:timers/promises';

/** Longest wait before a request is made again. */
const RETRY_MS = 500;

/** An answer of the API that ends a turn: how the client names it, and what it says of it. */
export class ApiFailure extends Error {
  constructor({ status, headers, body }) {
    const said = body.error?.message ?? '';
    const known = named(status, said);
    super(known.message);
    this.error = known.error;
    this.status = status;
    this.type = body.error?.type;
    this.limit = status === 429 ? limitOf(headers) : null;
    if (this.limit !== null) this.message = `You've hit your 5-hour limit · resets at ${this.limit.resetsAt}`;
    this.retry = headers['x-should-retry'] === 'false' ? null : known.retry;
  }
}

/** `retry`: how the client names it while it asks again, where it does. */
function named(status, said) {
  const plain = `API Error: ${status} ${said}`;
  if (status === 400 && /credit balance is too low/i.test(said))
    return { error: 'billing_error', message: 'Credit balance is too low', retry: null };
  if (status === 400 && !/prompt is too long/.test(said)) return { error: 'unknown', message: plain, retry: null };
  if (status === 401)
    return {
      error: 'authentication_failed',
      message: `Failed to authenticate. ${plain}`,
      retry: 'authentication_failed',
    };
  if (status === 429)
    return { error: 'rate_limit', message: `API Error: Request rejected (429) · ${said}`, retry: 'rate_limit' };
  if (status >= 500) {
    const { host } = new URL(process.env.ANTHROPIC_BASE_URL);
    const advice = `This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (${host}).`;
    const retry = status === 529 ? 'overloaded' : 'server_error';
    return { error: 'server_error', message: `${plain}. ${advice}`, retry };
  }
  throw new Error(`the stand-in does not know this answer of the model: ${plain}`);
}

export const hasLogin = () => process.env.ANTHROPIC_API_KEY === undefined;

/** The used-up limit that these headers tell a claude.ai login, or null. */
function limitOf(headers) {
  const unified = (name) => headers[`anthropic-ratelimit-unified-${name}`];
  if (!hasLogin() || unified('status') !== 'rejected') return null;
  const resetsAt = Number(unified('reset'));
  return {
    about: { status: 'rejected', resetsAt, rateLimitType: unified('representative-claim'), isUsingOverage: false },
    windows: { five_hour: { utilization: Number(unified('5h-utilization')), resetsAt, status: 'rejected' } },
    resetsAt,
  };
}

/** Asks as often as the client would; `tell` hears of each further time. */
export async function persistently(ask, tell, signal) {
  const most = Number(process.env.CLAUDE_CODE_MAX_RETRIES ?? 10);
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.retry === null || attempt > most) throw error;
      tell({
        attempt,
        max_retries: most,
        retry_delay_ms: RETRY_MS,
        error_status: error.status,
        error: error.retry,
      });
      await sleep(RETRY_MS, undefined, { signal });
    }
  }
}
