import { resolve } from 'node:path';
import { REQUEST_HEADING } from '../../drive/start/approve.ts';
import { takeBaseline } from '../../drive/start/baseline.ts';
import { giveConsent, pendingContract, pendingTerms } from '../../drive/start/live/consent.ts';
import { showTerms } from '../../drive/start/terms/consent-terms.ts';
import { START_TEXTS } from '../../drive/turn/messages.ts';
import { exitCode } from '../../engine/exit-code.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { readText } from '../../install/project-files.ts';
import { taskTitle } from '../../task/task-title.ts';
import { columnsOf } from '../../term/write-text.ts';
import { about, advise, RalphError } from '../../text/message.ts';
import { askInPerson } from '../ask.ts';
import type { CommandContext } from '../command.ts';
import { LEFT, runFirstChecks } from './first-checks.ts';
import { startScreenLines } from './start-screen.ts';

/** Shows the loop that awaits consent; if the user agrees, runs its checks and records both. Returns the exit code. */
export async function consentToLoop(context: CommandContext, byAgent: boolean): Promise<number> {
  if (byAgent)
    throw new RalphError('refused', advise('only the user can agree, in another terminal.', 'Agree', 'consent'));
  const terms = pendingTerms(context.files);
  const command = 'start --consent';
  const contract = pendingContract(context.files);
  // Last, so that it is on the screen when the user answers.
  const lines = [...showTerms(terms), '', ...summaryOf(contract, context)];
  const declined = about(START_TEXTS.notAgreed, { name: context.files.name, mode: 'hook' });
  const asked = { command, heading: REQUEST_HEADING, lines, question: 'Start it?', declined };
  const person = askInPerson(context.files, asked);
  const isTdd = contract.tdd !== undefined;
  const taken = await runFirstChecks(
    context,
    (options) => takeBaseline(context.files, contract, isTdd, options),
    contract.policy,
  );
  if (taken === null) return LEFT;
  const agreed = { by: person, baseline: taken.baseline };
  const { after } = giveConsent(context.files, context.env, context.now(), terms, agreed);
  context.answer({ success: true, status: after.status }, () => `The loop is ${after.status}.`);
  return exitCode('complete');
}

function summaryOf(contract: Contract, { projectDir, paint }: CommandContext): string[] {
  const { taskPath: path } = contract;
  const text = readText(resolve(projectDir, path)) ?? '';
  const [task, checks] = [taskTitle(text), { kind: 'done', baseline: null } as const];
  const tasks = [{ task, path, terms: contract }];
  return startScreenLines({ tasks, checks, notes: [], foot: [] }, columnsOf(2), paint, Number.POSITIVE_INFINITY);
}
