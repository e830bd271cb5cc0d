import { counted } from '../../text/figures.ts';
import { advise, type Message, offer } from '../../text/message.ts';

/** Instructions for passing a message: text after a line that ended the here-document would run in the host's shell. */
export const GIVE_TEXT =
  '--file PATH, or on standard input with a here-document whose delimiter is a random word that the message cannot contain.';

export const ROUTER_TEXTS = {
  none: 'There is no router loop here.',
  busy: (iteration: number, max: number, pid: number | null): string =>
    `Another session drives this router loop (iteration ${iteration} of ${max} done${pid === null ? '' : `, client process ${pid}`}).`,
  unseen: advise(
    'Cannot determine whether its client is still running.',
    'If it has exited, the user can resume in a terminal',
    'resume',
  ),
  otherMode: (mode: string, iteration: number): string =>
    `This loop is driven by ${mode === 'runner' ? 'a runner' : 'the Stop hook of its own session'} (iteration ${iteration} done), not by a router.`,
  fenced: 'Another session took over this loop during this call.',
  tookOver: 'Took over the loop of a session that has ended. Its unfinished work will be reassigned.',
  wentOn: 'The script or terminal that drove this loop has exited; this one continues its assignment.',
  thenStop: 'Spawn nothing more. Show the user the message and, if there is one, the report.',
  thenBusy: 'Spawn nothing. Tell the user which process drives the loop.',
  thenNone: (start: string): string => `Spawn nothing. If the user wants a loop: ${start}`,
  thenSpawn: (agentType: string, promptFile: string | null, report: string): string =>
    [
      `Start one new subagent (Agent tool, subagent_type ${agentType}) with exactly this prompt${promptFile === null ? '.' : ` or, if it is long, with: "Read the whole file ${promptFile} and follow it."`} Do not do its work yourself.`,
      `When it has ended, call: ${report} --agent AGENT_ID`,
      `If that does not find it, pass its final message, unchanged, instead of --agent: ${GIVE_TEXT}`,
      `If it could not work at all: ${report} --error "WHY"`,
    ].join('\n'),
  thenWait: (next: string, seconds: number): string =>
    `Do nothing until then. In a session: run in the background ${next} --wait ${seconds + 60}s, and end your turn; the client wakes you when it answers. Or ask again later: ${next}`,
  thenPaused: (next: string): string =>
    `Spawn nothing. Show the user this message and end your turn. When they have resumed the loop, call: ${next}`,
  thenConsent: (next: string): string =>
    `Spawn nothing. Show the user these commands and the line from the message verbatim. Then run in the background ${next} --wait 12h, and end your turn: it answers when they have agreed. If that call has ended: ${next}`,
  thenWorking: (next: string): string => `Call again in a moment: ${next}`,
  consent: (agree: string, settings: readonly string[]): string =>
    `The loop awaits the user's consent, because ${settings.length > 0 ? `its start set ${settings.join(', ')}` : 'an agent started or resumed it, and it runs commands'}. The user agrees in another terminal: ${agree}`,
  idle: (until: string): string => `The agent has nothing to do; the loop waits until ${until}.`,
  pace: (until: string): string => `The task sets a delay between iterations; the loop waits until ${until}.`,
  retry: (until: string): string =>
    `The last subagent could not work; the loop waits until ${until} before the next one.`,
  notCounted: (spawn: number, error: string): string =>
    `Spawn ${spawn} was not counted, because its subagent could not work: ${error}`,
  endedBefore: (spawn: number): string =>
    `The loop ended before spawn ${spawn} was reported, so this report was ignored.`,
  notInProgress: (spawn: number): string => `Spawn ${spawn} was counted or reassigned, so this report was ignored.`,
  uncounted: 'This report was not counted: it belongs to no spawn in progress.',
  notTaken: 'This report was not counted, because another call is working on the loop. Report it again.',
  gaveUp: (failures: number, error: string): Message =>
    advise(`${failures} subagents in a row could not work; the last error: ${error}`, 'Fix the cause, then', 'resume'),
  working: 'An earlier call of this session is still running commands or checks of the loop.',
  promised: (spawn: number, last: number): string =>
    `Spawn ${spawn} is not in progress; the last one assigned was ${last}. Call router next.`,
  doubt: (spawn: number): string =>
    `This text equals the previous spawn's report and has no spawn number, so it was ignored as a repetition. If it belongs to spawn ${spawn}, report it with --spawn ${spawn}.`,
  doubtAgain: (spawn: number): string =>
    `This text equals the previous spawn's report, so its spawn is unknown. Add its number: --spawn ${spawn} for the one in progress.`,
  severalReports:
    'This text has the notifications of several subagents. Report the one that worked on this spawn: its final message alone, or its id with --agent ID.',
  heardOfAgent: (agent: string, spawn: number): string =>
    `Subagent ${agent} already reported for an earlier spawn. Spawn ${spawn} is the work of a new subagent; router next has its prompt.`,
  ofAnotherLoop: (agent: string, loop: string | null, isLive: boolean): string => {
    const next = isLive ? 'Report it with the command from the answer that assigned it.' : 'That loop has ended.';
    return `Subagent ${agent} works for ${loop === null ? 'the default loop' : `the loop ${loop}`}, so this loop did not count its report. ${next}`;
  },
  needsAgent:
    "This task has a token budget, which needs the client's record of the subagent: report with --agent ID. Without a record, the user has to remove budget.max_tokens.",
  unguarded: advise(
    'Guardrails are not enforced for this subagent: the project lacks the agents ralph-qa and ralph-developer, which enforce them.',
    'Install them, then restart the session',
    'init',
  ),
  foreignAgent: (type: string, file: string): Message =>
    advise(
      `Guardrails are not enforced for this subagent: the agent ${type} in ${file} is not the one that ralph-loop installs. Rename that file.`,
      'Install the agents, then restart the session',
      'init',
    ),
  interrupted: (task: string, iteration: number): Message => ({
    text: `Found an interrupted router loop on ${task} (${counted(iteration, 'iteration')} done); its session has ended.`,
    advice: [
      { verb: 'Continue', command: 'router next' },
      { verb: 'Archive it and start over', command: 'router start', options: { fresh: true } },
    ],
  }),
  liveAlready: (task: string, dropped: readonly string[]): Message =>
    offer(
      `A router loop on ${task} is live and keeps its settings, so these cannot be applied: ${dropped.join(', ')}.`,
      { Continue: 'router next', 'To change them, the user ends this loop in a terminal': 'cancel' },
    ),
  anotherTask: (live: string, wanted: string): Message =>
    advise(
      `A router loop on ${live} is live, and ${wanted} is another task. Run it beside the first: router start --loop NAME.`,
      'Or the user can end the first in a terminal',
      'cancel',
    ),
} as const;
