/** What a scripted model can answer. Plain data, so that a failing test can print it. */

export type Usage = {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
};

export type ReplyBlock =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool_use';
      readonly id?: string;
      readonly name: string;
      readonly input: Readonly<Record<string, unknown>>;
    };

export type MessageReply = {
  readonly kind: 'message';
  readonly blocks: readonly ReplyBlock[];
  readonly usage?: Partial<Usage>;
  /** Defaults to tool_use when a block calls a tool, else end_turn. */
  readonly stopReason?: string;
  /** Milliseconds between two words of its texts; without it each text comes whole. */
  readonly wordMs?: number;
  /** The second half of such a text is kept back until this holds. */
  readonly goesOn?: () => boolean;
  /** Response headers, for instance anthropic-ratelimit-unified-*. */
  readonly headers?: Readonly<Record<string, string>>;
};

export type Reply =
  | MessageReply
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: unknown;
    }
  /** The connection stays open: before any byte, or after message_start with no content ever following. */
  | { readonly kind: 'hang'; readonly after: 'nothing' | 'start' }
  | { readonly kind: 'delay'; readonly ms: number; readonly reply: Reply };

export const text = (value: string, usage?: Partial<Usage>): MessageReply => ({
  kind: 'message',
  blocks: [{ type: 'text', text: value }],
  ...(usage === undefined ? {} : { usage }),
});

export const tool = (name: string, input: Readonly<Record<string, unknown>>, textBefore?: string): MessageReply => ({
  kind: 'message',
  blocks: [
    ...(textBefore === undefined ? [] : [{ type: 'text' as const, text: textBefore }]),
    { type: 'tool_use', name, input },
  ],
});

export const bash = (command: string, more: Readonly<Record<string, unknown>> = {}): MessageReply =>
  tool('Bash', { command, description: 'scripted', ...more });

/** One message with the blocks of all of them: parallel tool calls, or text between calls. */
export const together = (...replies: readonly MessageReply[]): MessageReply => ({
  kind: 'message',
  blocks: replies.flatMap((reply) => reply.blocks),
});

export const withUsage = (reply: MessageReply, usage: Partial<Usage>): MessageReply => ({ ...reply, usage });

/** Its texts come word by word, the second half of each not before `goesOn` holds: so long the agent is seen to speak. */
export const slowly = (wordMs: number, reply: MessageReply, goesOn = (): boolean => true): MessageReply => ({
  ...reply,
  wordMs,
  goesOn,
});

const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
};

/** An API error. The client retries most of them: each retry asks the script again. */
export const status = (
  code: number,
  options: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
    readonly message?: string;
  } = {},
): Reply => ({
  kind: 'status',
  status: code,
  headers: options.headers ?? {},
  body: options.body ?? {
    type: 'error',
    error: { type: errorTypes[code] ?? 'api_error', message: options.message ?? `scripted ${code}` },
  },
});

export const hang = (after: 'nothing' | 'start' = 'nothing'): Reply => ({ kind: 'hang', after });

export const delay = (ms: number, reply: Reply): Reply => ({ kind: 'delay', ms, reply });

/** The 429 of a claude.ai login that has used up its window (`resetsAt` in epoch seconds). */
export const rateLimited = (resetsAt: number, claim = 'five_hour'): Reply =>
  status(429, {
    headers: {
      'anthropic-ratelimit-unified-status': 'rejected',
      'anthropic-ratelimit-unified-reset': String(resetsAt),
      'anthropic-ratelimit-unified-representative-claim': claim,
      'anthropic-ratelimit-unified-5h-status': 'rejected',
      'anthropic-ratelimit-unified-5h-reset': String(resetsAt),
      'anthropic-ratelimit-unified-5h-utilization': '1',
      'x-should-retry': 'false',
    },
    message: "This request would exceed your account's rate limit.",
  });
