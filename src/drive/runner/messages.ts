import type { PermissionRule, refusingRules } from '../../hosts/claude/permission-rules.ts';
import { HOOK_HOSTS } from '../../hosts/hook-hosts.ts';
import { advise, type Message, offer } from '../../text/message.ts';
import { formatDuration } from '../../text/time.ts';
import { shownPath } from '../control/messages.ts';

/** Number of rules that a message names at most. */
const MOST_RULES = 3;

type Refusal = 'authentication' | 'billing' | 'invalid-request' | 'unguarded' | 'options';

const REMEDIES: Record<Refusal, string> = {
  authentication: 'Log in again or fix the API key.',
  billing: 'Fix the billing problem.',
  'invalid-request': "Fix the agent's command, the model or the settings.",
  options: 'Correct the options after --, or the file that they name.',
  unguarded: 'Guardrails are not enforced for this agent. Fix the client.',
};

export const RUNNER_TEXTS = {
  held: (pid: number): Message =>
    offer(`A runner already works on this loop (process ${pid}). To run another beside it, add --loop NAME.`, {
      'Show it': 'status',
      'End it': 'stop',
    }),
  heldElsewhere:
    'A runner on another machine, or one that has just ended, holds the lease of this loop. Try again in half a minute.',
  leaseLost: 'This runner ends: another runner took over the loop, or its lease could not be renewed.',
  takenAway: (message: string): Message =>
    advise(
      `The loop's state was deleted while the agent worked: ${message} Restore the project.`,
      'Then resume',
      'resume',
    ),
  finishing: 'The loop stops after this iteration. Press Ctrl+C again to cancel it now.',
  stopping: 'The loop stops.',
  wokenByUser: 'Continuing now.',
  pausedByUser: advise('The loop is paused. Ctrl+C leaves it paused.', 'Resume in another terminal', 'resume'),
  interrupted: advise(
    'Interrupted; the loop is paused. Enter resumes it and sends your message. Ctrl+C leaves it paused.',
    'Or resume in another terminal',
    'resume',
  ),
  allowed: (rule: string): string => `Calls that match ${rule}: allowed by you until this run ends.`,
  nowAllowed: (rule: string): string =>
    `Calls that match ${rule} are allowed now. Repeat the denied call if you still need it.`,
  notOffered: 'This call can no longer be allowed: this runner has not seen its denial.',
  notAsked: (why: string): string => `A process asked to allow a denied call, and was refused: ${why}.`,
  onlyReads: (lost: string): string => `${lost} Until its turn ends, the agent may only read; then the loop pauses.`,
  left: advise('This runner has left the loop, which is still live.', 'Resume', 'resume'),
  sharedLimit: 'Another loop has reached the rate limit of the account.',
  retry: (message: string, delayMs: number, nth: number, most: number): string =>
    `${message} Trying again in ${formatDuration(Math.ceil(delayMs / 1000) * 1000)} (${nth} of ${most}).`,
  gaveUp: (message: string): Message => advise(`Stopped: ${message}`, 'Resume', 'resume'),
  refused: (kind: Refusal, message: string, host: string | undefined): Message => {
    const login = host === undefined ? 'claude, then /login' : HOOK_HOSTS.find(({ name }) => name === host)?.login;
    const remedy = REMEDIES[kind].replace('Log in again', `Log in again (${login})`);
    return advise(`Stopped: ${message} ${remedy}`, 'Resume', 'resume');
  },
  restored: (moved: string): string =>
    `The loop's state was changed by another program and was restored. The changed file is ${moved}.`,
  checkDenied: (check: string, option: string | null, ruled: string): string =>
    `The agent may not run the check ${check}, so it cannot test its work.${option === null ? '' : ` Allow it with the option: ${option}`}${ruled === '' ? '' : ` ${ruled}`}`,
  /** Names the rules that refused a call, or may have; none if the rule came with an option of the client. */
  ruled: (
    kind: PermissionRule['kind'],
    { rules, isCertain }: ReturnType<typeof refusingRules>,
    projectDir: string,
  ): string => {
    const does = kind === 'deny' ? 'forbids it' : 'has a person approve it';
    const named = rules.slice(0, MOST_RULES).map(({ rule, path }) => `${rule} in ${shownPath(path, projectDir)}`);
    if (named.length === 0) return `A rule under "${kind}" ${does}: look at your options after --.`;
    const who = isCertain ? `Your rule ${named} ${does}` : `One of your rules ${does}, perhaps ${named.join(' or ')}`;
    return `${who}; an option cannot allow it. Change the rule.`;
  },
  checkVaried: (check: string, option: string): string =>
    `The agent may run the check ${check} only in these words. Allow this call, too: ${option}`,
  lostLines: (lines: number): string =>
    `${lines === 1 ? '1 unreadable line' : `${lines} unreadable lines`} of the agent's stream ${lines === 1 ? 'was' : 'were'} skipped.`,
} as const;
