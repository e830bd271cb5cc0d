import { elapsed } from '../../core/clock.ts';
import { settingsToAgreeTo } from './agreed.ts';
import type { WaitAnswer } from './answer.ts';
import { commandsOf } from './commands-of.ts';
import { notesOf, type Router } from './router.ts';
import { inRouter, ROUTER_TEXTS } from './texts.ts';

/** The command that asks what to do next. */
function nextCall({ options }: Pick<Router, 'options'>): string {
  return `${options.program} router next${options.options}`;
}

/** Idle, or the pause that the task wants between two iterations. */
export function waitingAnswer(router: Router, until: string): WaitAnswer {
  const { state } = router.turn.loaded;
  const seconds = Math.max(1, Math.ceil(elapsed(router.turn.context.now(), until) / 1000));
  const why = (state.status === 'waiting' && state.waiting.why) || 'idle';
  return {
    ...wait(router, why, ROUTER_TEXTS[why](until)),
    until,
    seconds,
    next: ROUTER_TEXTS.thenWait(nextCall(router), seconds),
  };
}

export function pausedAnswer(router: Router, message: string): WaitAnswer {
  return { ...wait(router, 'paused', message), next: ROUTER_TEXTS.thenPaused(nextCall(router)) };
}

/** The user sees what would run before they agree to it. */
export function consentAnswer(router: Router): WaitAnswer {
  const { options, turn } = router;
  const contract = turn.loaded.stored?.contract;
  const commands = contract === undefined ? [] : commandsOf(router.files, contract);
  const settings = contract === undefined ? [] : settingsToAgreeTo(contract);
  const message = ROUTER_TEXTS.consent(`${options.program} start --consent${options.options}`, settings);
  return {
    ...wait(router, 'awaiting-consent', message),
    commands,
    next: ROUTER_TEXTS.thenConsent(nextCall(router)),
  };
}

/** Another call of the same host is at work on the loop. */
export function workingAnswer(router: Router): WaitAnswer {
  return {
    ...wait(router, 'working', ROUTER_TEXTS.working),
    seconds: 5,
    next: ROUTER_TEXTS.thenWorking(nextCall(router)),
  };
}

function wait(router: Router, why: WaitAnswer['why'], message: string): WaitAnswer {
  const { files, turn } = router;
  return {
    action: 'wait',
    why,
    until: null,
    seconds: null,
    message: inRouter(message, files.name),
    loopId: turn.loaded.state.loopId,
    loop: files.name,
    notes: notesOf(router),
    next: '',
  };
}
