import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Project } from '../../support/project.ts';

/**
 * How a run of the client ends: `limited` at the account's limit, which resets within a second, `crash` leaves without a
 * result, `hang` waits until it is interrupted.
 */
export type RunEnd = 'ok' | 'claim' | 'refused' | 'overloaded' | 'limited' | 'malformed' | 'crash' | 'killed' | 'hang';

export interface BilledRun {
  readonly end: RunEnd;
  /** Tokens of each message: input, output, cache reads, cache writes. */
  readonly messages: readonly (readonly [number, number, number, number])[];
  /** Used share of the five-hour limit, which resets after so many seconds. */
  readonly window?: { readonly used: number; readonly seconds: number };
}

const SOURCE = `
const fs = require('node:fs');
if (process.argv.includes('--version')) { console.log('2.1.330 (Claude Code)'); process.exit(0); }
const place = process.env.BILLING;
const nth = fs.existsSync(place + '/runs') ? fs.readFileSync(place + '/runs', 'utf8').length : 0;
fs.appendFileSync(place + '/runs', '.');
const runs = JSON.parse(fs.readFileSync(place + '/plan.json', 'utf8'));
const { end, messages, window } = runs[Math.min(nth, runs.length - 1)];
const say = (line) => fs.writeSync(1, JSON.stringify(line) + '\\n');
const total = [0, 0, 0, 0];
const bill = (tokens) => {
  fs.appendFileSync(place + '/billed', JSON.stringify(tokens) + '\\n');
  tokens.forEach((one, at) => { total[at] += one; });
};
const usage = ([input, output, read, write]) =>
  ({ input_tokens: input, output_tokens: output, cache_read_input_tokens: read, cache_creation_input_tokens: write });
const result = (more) => say({
  type: 'result', subtype: 'success', is_error: false, terminal_reason: 'completed', num_turns: 1, result: 'Done ' + nth,
  total_cost_usd: total.reduce((sum, one) => sum + one, 0) / 1e6,
  modelUsage: { fake: { inputTokens: total[0], outputTokens: total[1], cacheReadInputTokens: total[2], cacheCreationInputTokens: total[3] } },
  ...more,
});
const failed = (error, status, text) => {
  say({ type: 'assistant', error, is_api_error_message: true, api_error_status: status, message: { id: 'e', content: [{ type: 'text', text }] } });
  result({ is_error: true, terminal_reason: 'api_error', api_error_status: status, result: text });
  process.exit(1);
};
process.on('SIGTERM', () => process.exit(143));
let began = false;
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  if (JSON.parse(line).type === 'control_request') {
    result({ subtype: 'error_during_execution', is_error: true, terminal_reason: 'aborted_streaming' });
    process.exit(1);
  }
  if (began) return;
  began = true;
  const [, task] = /Current task: Task (\\d+),/.exec(line) ?? [];
  if (task !== undefined) {
    fs.mkdirSync('work/' + task, { recursive: true });
    fs.writeFileSync('work/' + task + '/made', task);
  }
  say({ type: 'system', subtype: 'init', session_id: 's', model: 'fake' });
  messages.forEach((tokens, at) => {
    const id = 'm' + nth + '-' + at;
    const last = at === messages.length - 1 && end !== 'ok' && end !== 'claim';
    const begun = [tokens[0], 1, tokens[2], tokens[3]];
    bill(last ? begun : tokens);
    say({ type: 'stream_event', parent_tool_use_id: null, event: { type: 'message_start', message: { id, usage: usage(begun) } } });
    if (last) return;
    for (const text of ['one', 'two']) say({ type: 'assistant', parent_tool_use_id: null, message: { id, usage: usage(begun), content: [{ type: 'text', text }] } });
    say({ type: 'stream_event', parent_tool_use_id: null, event: { type: 'message_delta', usage: usage(tokens) } });
  });
  if (window) say({ type: 'rate_limit_event', rate_limit_info: { status: 'allowed_warning', unifiedWindows: {
    five_hour: { utilization: window.used, resetsAt: Math.ceil(Date.now() / 1000) + window.seconds },
    seven_day: { utilization: 0.5, resetsAt: 9e9 },
  } } });
  switch (end) {
    case 'ok': result({}); return process.exit(0);
    case 'claim': result({ result: 'RALPH_AUDIT_COMPLETE_NO_FINDINGS' }); return process.exit(0);
    case 'refused': return failed('invalid_request', 400, 'API Error: 400');
    case 'overloaded': return failed('overloaded', 529, 'API Error: 529');
    case 'limited':
      say({ type: 'rate_limit_event', rate_limit_info: { status: 'rejected', rateLimitType: 'five_hour', resetsAt: Math.ceil(Date.now() / 1000) } });
      return failed('rate_limit', 429, "You've hit your 5-hour limit");
    case 'malformed': return failed('unknown', null, 'API Error: malformed response');
    case 'crash': return process.exit(3);
    case 'killed': return process.kill(process.pid, 'SIGKILL');
    case 'hang': fs.appendFileSync(place + '/hangs', 'x'); setInterval(() => {}, 1000);
  }
});
`;

/** By the clock of the runner a minute passes each time that a run hangs, and not before, however slow its start is. */
const CLOCK = `
const { statSync } = require('node:fs');
const { now } = Date;
Date.now = () => now() + 60_000 * (statSync(process.env.BILLING + '/hangs', { throwIfNoEntry: false })?.size ?? 0);
`;

/**
 * A stand-in for the client whose runs are these, the last one repeated; it makes a file for a task of a plan, and notes what
 * it bills. With the variables `quick` as well, a run that hangs reaches a time limit of less than a minute at once.
 */
export function billingClient(
  p: Project,
  runs: readonly BilledRun[],
): { env: NodeJS.ProcessEnv; quick: NodeJS.ProcessEnv; billed: () => number[] } {
  p.write('../billing/plan.json', runs);
  p.write('../billing/claude', `#!${process.execPath}\n${SOURCE}`, 0o755);
  p.write('../billing/billed', '');
  p.write('../billing/clock.cjs', CLOCK);
  const place = join(p.dir, '..', 'billing');
  return {
    quick: { NODE_OPTIONS: `--require=${join(place, 'clock.cjs')}` },
    env: { RALPH_CLAUDE: join(place, 'claude'), BILLING: place, RALPH_RETRY_WAIT: '10ms' },
    billed: () =>
      readFileSync(join(place, 'billed'), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .reduce((sum, line) => sum.map((one, at) => one + Number(JSON.parse(line)[at])), [0, 0, 0, 0]),
  };
}
