import { forLoop } from '../../term/for-loop.ts';

/** A message with a line of its own that ends the here-document would have the rest of it run by the host's shell. */
export const GIVE_TEXT =
  '--file PATH, or on standard input, by a here-document whose end mark is a random word that the message cannot hold.';

/** What the router says to its host and to people: what happened, what to do next. */
export const ROUTER_TEXTS = {
  none: 'there is no router loop here.',
  busy: (iteration: number, max: number, pid: number | null): string =>
    `another session drives this router loop (iteration ${iteration} of ${max} done${pid === null ? '' : `, client process ${pid}`}). It is left alone.`,
  unseen:
    'From here nobody can tell whether its client still runs; where it is gone, the user goes on with: main.cjs router start --resume, in a terminal.',
  otherMode: (mode: string, iteration: number): string =>
    `the loop here is driven by ${mode === 'runner' ? 'a runner' : 'the Stop hook of its own session'} (iteration ${iteration} done), not by a router. It is left alone.`,
  fourKeys:
    'the state file here is one of four keys, for the Stop hook alone. main.cjs reset puts it into the archive.',
  fenced: 'another session has taken this loop over while this call was at work. It is left alone.',
  tookOver:
    'the session that drove this loop is gone; this one has taken it over. What it had handed out is handed out again.',
  wentOn: 'the script or terminal that drove this loop is gone; this one goes on with what it had in hand.',
  thenStop: 'Spawn nothing more. Tell the user how the loop ended.',
  thenBusy: 'Spawn nothing. Tell the user who drives the loop.',
  thenNone: (start: string): string => `Spawn nothing. Where the user wants a loop: ${start}`,
  thenSpawn: (agentType: string, promptFile: string | null, report: string): string =>
    [
      `Start one new subagent (Agent tool, subagent_type ${agentType}) with exactly this prompt${promptFile === null ? '' : ` or, where it is long, with: "Read the file ${promptFile} whole and work by it."`} Do not do its work yourself.`,
      `When it has ended, call: ${report} --agent AGENT_ID`,
      `Where that does not find it, give its final message, unchanged, in place of --agent: ${GIVE_TEXT}`,
      `If it could not work at all: ${report} --error "WHY"`,
    ].join('\n'),
  thenWait: (next: string, seconds: number): string =>
    `Do nothing until then. In a session: run in the background ${next} --wait ${seconds + 60}s, and end your turn; the client wakes you when it answers. Or ask again later: ${next}`,
  thenPaused: (next: string): string =>
    `Spawn nothing. Tell the user this message and end your turn. When they say that it goes on, call: ${next}`,
  thenConsent: (next: string): string =>
    `Spawn nothing. Show the user these commands and the line of the message, word for word, and end your turn. When they have agreed, call: ${next}`,
  thenWorking: (next: string): string => `Call again in a moment: ${next}`,
  consent: (agree: string, settings: readonly string[]): string =>
    `the loop awaits the consent of the user, because ${settings.length > 0 ? `its start has set ${settings.join(', ')}` : 'its commands were written or changed since this session began, or it was resumed from here'}. They agree in another terminal: ${agree}`,
  idle: (until: string): string => `the agent has nothing to do; the loop waits until ${until}.`,
  pace: (until: string): string => `the task wants a pause between two iterations; the loop waits until ${until}.`,
  working: 'an earlier call of this session is still at work on the loop (commands or checks run).',
  promised: (spawn: number, last: number): string =>
    `there is no spawn ${spawn} in hand; the last one handed out was ${last}. Call router next.`,
  doubt: (spawn: number): string =>
    `this text is that of the spawn before, word for word, and came without a number: it was taken for the same report once more and not counted. If it is that of spawn ${spawn}, report it with --spawn ${spawn}.`,
  doubtAgain: (spawn: number): string =>
    `this text is that of the spawn before, word for word, and nobody can tell whether it is a new one. Say which spawn it is of: --spawn ${spawn} for the one in hand.`,
  severalReports:
    'this is what several subagents have said, in the client’s notifications. A report is of one: give the final message of the subagent that worked on this spawn, alone, or its id: --agent ID.',
  heardOfAgent: (agent: string, spawn: number): string =>
    `the report of subagent ${agent} was heard for an earlier spawn. Spawn ${spawn} is the work of a new subagent; router next has its prompt.`,
  needsAgent:
    'this task has a budget of tokens, which only the client’s own record of the subagent tells: report with --agent ID. Where there is none, the user has to take budget.max_tokens out.',
  unguarded:
    'the guardrails of this task hold only in the agents ralph-qa and ralph-developer, which the project has not: nothing holds this subagent to them. main.cjs init installs them; then restart the session.',
  foreignAgent: (type: string, file: string): string =>
    `the guardrails of this task do not hold this subagent: the agent ${type} in ${file} is not the one that main.cjs init installs, and has not its hooks. Give that file another name, run main.cjs init, and restart the session.`,
  lies: (task: string, iteration: number): string =>
    `a router loop on ${task} lies here (iteration ${iteration} done), and the session that drove it is gone. Go on with it: main.cjs router next. Put it into the archive and begin anew: main.cjs router start --fresh.`,
  liveAlready: (task: string, dropped: readonly string[]): string =>
    `a router loop on ${task} is live here and stays as it was begun, so that this cannot be heard: ${dropped.join(', ')}. Go on with: router next. For a loop that is otherwise the user ends this one: main.cjs cancel, in a terminal.`,
  anotherTask: (lies: string, wanted: string): string =>
    `a router loop on ${lies} is live here, and ${wanted} is another task. Run it beside: router start --loop NAME. Or the user ends the first: main.cjs cancel, in a terminal.`,
} as const;

/** What the engine advises, made to mean a router's loop. */
export function inRouter(message: string, name: string | null): string {
  return forLoop(message, { name, mode: 'router' });
}
