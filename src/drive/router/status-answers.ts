import { exitCode } from '../../engine/exit-code.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { LoopState, StateOf } from '../../engine/schema/state.ts';
import { findLiveContract, type LoopFiles } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { checkCommands, peekTdd } from '../../state/tdd-store.ts';
import { endedState } from '../../state/with-state.ts';
import type { Message } from '../../text/message.ts';
import { elapsed } from '../../text/time.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import type { Hold } from './holder.ts';
import { ROUTER_TEXTS } from './messages.ts';
import { type Router, type RouterOptions, readSpawn, type StopAnswer, type WaitAnswer } from './router.ts';

export function busy(files: LoopFiles, state: LoopState, hold: Hold): StopAnswer {
  const { iteration, maxIterations, sessionId, clientPid, mode, loopId } = state;
  const whose =
    mode === 'router'
      ? ROUTER_TEXTS.busy(iteration, maxIterations, clientPid)
      : ROUTER_TEXTS.otherMode(mode, iteration);
  const message = hold === 'unseen' ? { ...ROUTER_TEXTS.unseen, text: `${whose} ${ROUTER_TEXTS.unseen.text}` } : whose;
  return {
    ...stop(files, 'busy', message),
    loopId,
    next: ROUTER_TEXTS.thenBusy,
    holder: { sessionId, pid: clientPid },
  };
}

/** Answers how the last router loop here ended, or that there was none. */
export function over(files: LoopFiles, { program }: Pick<RouterOptions, 'program'>): StopAnswer {
  const loopId = readSpawn(files)?.loopId ?? null;
  const state = loopId === null ? null : endedState(files, loopId);
  if (loopId !== null && state !== null) return endAnswer(files, loopId, state.ended);
  // A loop that ended has no contract.
  const isLost = loopId !== null && findLiveContract(files, loopId) !== null;
  if (isLost) return { ...trouble(files, HOOK_TEXTS.vanished), loopId };
  const start = `${program} router start`;
  return { ...stop(files, 'none', ROUTER_TEXTS.none), next: ROUTER_TEXTS.thenNone(start) };
}

export function endAnswer(
  files: LoopFiles,
  loopId: string,
  { as, message, verified, proof }: StateOf<'ended'>['ended'],
): StopAnswer {
  return { ...stop(files, as, message), loopId, verified, proof: proof ?? null };
}

export function trouble(files: LoopFiles, message: Message | string): StopAnswer {
  return stop(files, 'error', message);
}

function stop({ name }: LoopFiles, status: StopAnswer['status'], message: Message | string): StopAnswer {
  return {
    action: 'stop',
    status,
    message: show(message, { name, mode: 'router' }),
    verified: false,
    proof: null,
    exitCode: exitCode(status === 'busy' || status === 'none' ? 'error' : status),
    loopId: null,
    loop: name,
    notes: [],
    next: ROUTER_TEXTS.thenStop,
  };
}

export function waitingAnswer(router: Router, until: string): WaitAnswer {
  const { state } = router.turn.loaded;
  return timedAnswer(router, (state.status === 'waiting' && state.waiting.why) || 'idle', until);
}

export function timedAnswer(router: Router, why: 'idle' | 'pace' | 'retry', until: string): WaitAnswer {
  const delayMs = Math.max(1, elapsed(router.turn.context.now(), until));
  const seconds = Math.ceil(delayMs / 1000);
  const next = (call: string): string => ROUTER_TEXTS.thenWait(call, seconds);
  return { ...wait(router, why, ROUTER_TEXTS[why](until), next), until, seconds, delayMs };
}

export function pausedAnswer(router: Place, message: string): WaitAnswer {
  return { ...wait(router, 'paused', message, ROUTER_TEXTS.thenPaused), exitCode: exitCode('paused') };
}

export function consentAnswer(router: Router): WaitAnswer {
  const { options, turn } = router;
  const contract = turn.loaded.stored?.contract;
  const commands = contract === undefined ? [] : checkCommands(router.files, contract);
  const settings = contract === undefined ? [] : settingsToAgreeTo(contract);
  const message = ROUTER_TEXTS.consent(`${options.program} start --consent${options.options}`, settings);
  return { ...wait(router, 'awaiting-consent', message, ROUTER_TEXTS.thenConsent), commands };
}

export function workingAnswer(router: Router): WaitAnswer {
  return { ...wait(router, 'working', ROUTER_TEXTS.working, ROUTER_TEXTS.thenWorking), seconds: 5, delayMs: 5000 };
}

/** What an answer about a loop needs. */
type Place = Pick<Router, 'files' | 'options' | 'notes'> & {
  readonly turn: { readonly loaded: Pick<Router['turn']['loaded'], 'state'> };
};

function wait(
  { files, turn, notes, options }: Place,
  why: WaitAnswer['why'],
  message: string,
  next: (call: string) => string,
): WaitAnswer {
  return {
    action: 'wait',
    why,
    until: null,
    seconds: null,
    delayMs: null,
    message: show(message, turn.loaded.state),
    loopId: turn.loaded.state.loopId,
    loop: files.name,
    notes,
    next: next(`${options.program} router next${options.options}`),
  };
}

/** Options that only limit a loop. */
const LIMITS = ['max_iterations', 'max_tasks'];

/** Returns the options of the command line that the user has to agree to, as `key=value`. */
function settingsToAgreeTo({ flags }: Contract): string[] {
  return Object.entries(flags).flatMap(([key, value]) => (LIMITS.includes(key) ? [] : [`${key}=${String(value)}`]));
}

/** Returns whether a loop started by an agent would run or set anything that the user has not agreed to. */
export function needsConsent(files: LoopFiles, contract: Contract): boolean {
  const { tdd, ...own } = contract;
  const isUnagreedList = tdd !== undefined && peekTdd(files)?.consented !== true;
  return isUnagreedList || settingsToAgreeTo(contract).length > 0 || checkCommands(files, own).length > 0;
}
