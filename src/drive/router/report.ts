import type { Effect } from '../../engine/effects.ts';
import type { UsageDelta } from '../../engine/events.ts';
import { outOfTime } from '../../engine/policy/budget.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import { digest } from '../../text/digest.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { measureIteration } from '../prompt/gather-evidence.ts';
import { countTurn, takeFingerprints } from '../turn/count-turn.ts';
import { heardContext, type Loaded } from '../turn/turn.ts';
import { ROUTER_TEXTS } from './messages.ts';
import { answerNow, proceed } from './proceed.ts';
import type { Router, RouterAnswer } from './router.ts';
import { isHeard, lastSpawn, noteOf, type SpawnRecord, spawnInHand, spawnMark } from './spawn-record.ts';

export interface Report {
  /** Which piece of work it is of; null where the host does not say: then of the one in hand. */
  readonly spawn: number | null;
  /** The client's id of the agent; null where the host gives its text alone. */
  readonly agent: string | null;
  /** The agent's final message. */
  readonly text: string;
  /** Why the agent could not work; null where it did. */
  readonly error: string | null;
  readonly usage: UsageDelta | null;
}

/** So many times in a row a text that may be the last one's once more is taken for that. */
const MOST_DOUBTS = 3;

/**
 * A subagent has ended: its iteration is counted, once however often it is told, claims are checked, and the answer is
 * what comes next. Throws RalphError `usage` for a spawn that was never handed out, and for an agent
 * that has been heard of for the one before.
 */
export async function report(router: Router, told: Report): Promise<RouterAnswer> {
  const { files, turn } = router;
  const { state } = turn.loaded;
  const inHand = spawnInHand(files, state);
  const known = lastSpawn(files, state);
  if (told.spawn !== null && told.spawn > known) {
    throw new RalphError('usage', ROUTER_TEXTS.promised(told.spawn, known));
  }
  const asked = told.spawn === null || told.spawn === inHand?.answer.spawn;
  if (inHand === null || !asked) return answerNow(router);
  if (told.agent !== null && told.agent === inHand.heardOf) {
    // Without a number it is the same report once more.
    if (told.spawn === null) return answerNow(router);
    throw new RalphError('usage', ROUTER_TEXTS.heardOfAgent(told.agent, inHand.answer.spawn));
  }
  if (told.spawn === null && told.error === null && doubtful(router, inHand, state, told.text))
    return answerNow(router);
  return proceed(router, await count(router, inHand, told));
}

/** A host that says no number and calls again is told apart from an agent that says the same again by nothing. */
function doubtful({ files, turn }: Router, inHand: SpawnRecord, { lastTurn }: LoopState, text: string): boolean {
  if (lastTurn === null || lastTurn.text !== digest(text)) return false;
  const { spawn } = inHand.answer;
  if (inHand.doubts >= MOST_DOUBTS) throw new RalphError('usage', ROUTER_TEXTS.doubtAgain(spawn));
  noteOf(files, inHand, { doubts: inHand.doubts + 1 });
  turn.notes.push(ROUTER_TEXTS.doubt(spawn));
  return true;
}

async function count(router: Router, inHand: SpawnRecord, told: Report): Promise<readonly Effect[]> {
  const { files, turn, options } = router;
  const { stored, state: before } = turn.loaded;
  const context = heardContext(files, options.env, before.sessionId ?? '', told.text);
  const { signal } = turn.options;
  const measured = stored?.contract.task
    ? await measureIteration(files, stored.contract, { env: options.env, signal })
    : null;
  const fingerprints = takeFingerprints(context, turn.options, stored, measured);
  if (told.usage === null && told.error === null && turn.loaded.policy.budget.maxTokens !== null) {
    throw new RalphError('usage', ROUTER_TEXTS.needsAgent);
  }
  const effects = withState(files, { ...LOCK_WAIT, ...(turn.lease && { lease: turn.lease }) }, (current) => {
    const none = { next: 'keep' as const, result: [] };
    if (current.kind !== 'loop' || current.state.loopId !== before.loopId) return none;
    if (isHeard(inHand, current.state)) return none;
    const loaded: Loaded = { ...turn.loaded, state: current.state };
    const timedOut = outOfTime(current.state, loaded.policy.pace.iterationTimeoutMs, context.now());
    const heard = {
      error: told.error,
      timedOut: told.error === null && timedOut,
      usage: told.usage,
      costUsd: null,
      transcriptMark: spawnMark(inHand.answer.spawn),
    };
    const facts = { ...fingerprints, text: told.error === null ? told.text : '', origin: 'loop', heard } as const;
    const { state, effects, task } = countTurn(context, loaded, facts, measured);
    router.turn = { ...turn, loaded: { ...loaded, state }, task };
    return { next: state, result: effects };
  });
  // After the state, which says the same: where this process dies in between, nothing is lost.
  noteOf(files, inHand, { heard: true, heardOf: told.agent ?? inHand.heardOf });
  return effects;
}

/** Signals stand at the end of a message; what comes before so many bytes of it is of no use. */
export const REPORT_LIMIT = 1024 * 1024;

/** The client hands a subagent's text on with so many spaces before each line (measured). */
const HANDED_ON = '  ';
/** With so many a line is code, however it came by them. */
const CODE = '    ';

const NOTIFICATION = '<task-notification>';
const NOTIFICATION_END = '</task-notification>';

/**
 * A subagent's final message as it wrote it, from what its host makes of it: any bytes, at most the last MiB, out of the
 * client's notification where the host passes that on whole, and without the indentation that the client gives it.
 * Throws RalphError `usage` where the notifications of several subagents are passed on as one.
 */
export function plainReport(bytes: Uint8Array): string {
  const kept = bytes.subarray(Math.max(0, bytes.length - REPORT_LIMIT));
  const text = new TextDecoder().decode(kept);
  return withoutIndent(resultIn(text.trim()) ?? text);
}

/** The result in a text that is a notification and nothing else; one that is only quoted is the agent's own text. */
function resultIn(text: string): string | null {
  if (!text.startsWith(NOTIFICATION) || !text.endsWith(NOTIFICATION_END)) return null;
  const start = text.indexOf('<result>');
  const end = text.lastIndexOf('</result>');
  if (start === -1 || end < start) return null;
  if (/<\/task-notification>\s*<task-notification>/.test(text)) {
    throw new RalphError('usage', ROUTER_TEXTS.severalReports);
  }
  return text.slice(start + '<result>'.length, end);
}

function withoutIndent(text: string): string {
  const lines = text.split('\n');
  const said = lines.filter((line) => line.trim() !== '');
  const handedOn = said.every((line) => line.startsWith(HANDED_ON)) && said.some((line) => !line.startsWith(CODE));
  return handedOn
    ? lines.map((line) => line.slice(line.startsWith(HANDED_ON) ? HANDED_ON.length : 0)).join('\n')
    : text;
}
