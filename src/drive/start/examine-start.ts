import type { Contract } from '../../engine/schema/contract.ts';
import { argumentProblems, buildContract } from '../../task/settings/build-contract.ts';
import { type Message, RalphError } from '../../text/message.ts';
import { LAUNCH_TEXTS, START_TEXTS } from '../turn/messages.ts';
import { findTask } from './find-task.ts';
import { prepareContract, requireOpenItems } from './prepare-contract.ts';
import { unmatchedWarning } from './protection-warnings.ts';
import type { ContractRequest, PreparedContract } from './stages.ts';
import { startOf, unagreedSettings } from './terms/agreed-settings.ts';

type Examined = Pick<ContractRequest, 'projectDir' | 'name' | 'task' | 'env' | 'at' | 'args' | 'plan'>;

/** Something that the user has to provide at a start. */
interface Need {
  readonly what: 'arguments' | 'permission mode' | 'consent';
  /** Message of `run` without it. */
  readonly message: Message;
}

/** What a start of a task would report, without starting anything. */
export interface StartProblems {
  /** Why `run` refuses the task with its present files; null if it does not. */
  readonly refusal: Message | null;
  /** Why a session refuses a task that `run` accepts; null if it does not. */
  readonly inSession: Message | null;
  readonly needs: readonly Need[];
  /** Names globs that match no file; null if there are none, or after a refusal. */
  readonly unmatched: string | null;
  /** The contract of a run, with placeholders for missing arguments; null after a refusal. */
  readonly contract: Contract | null;
}

/** Examines a task with the functions that start it, so that their refusals are known before. Changes nothing. */
export function examineStart(examined: Examined): StartProblems {
  const needs: Need[] = [];
  try {
    const args = argumentsOf(examined, needs);
    const request: ContractRequest = { ...examined, args, flags: {}, consented: true, launched: true, mode: 'runner' };
    const prepared = prepareContract(request);
    needs.push(...needsOf(request, prepared));
    requireOpenItems(prepared.terms.taskPath, prepared.checklist);
    const { contract } = buildContract({ ...prepared.terms, loopId: 'check' });
    const unmatched = unmatchedWarning(contract, examined.env);
    return { refusal: null, inSession: sessionRefusal({ ...request, mode: 'hook' }), needs, unmatched, contract };
  } catch (error) {
    return { refusal: refusalIn(error), inSession: null, needs, unmatched: null, contract: null };
  }
}

function needsOf(request: ContractRequest, { terms, resolved }: PreparedContract): Need[] {
  const needs: Need[] = [];
  const isBare = terms.agent === undefined && resolved.settings.permissionMode === null;
  if (isBare) needs.push({ what: 'permission mode', message: { text: LAUNCH_TEXTS.needsMode } });
  const open = unagreedSettings(request, resolved);
  if (open.length > 0)
    needs.push({ what: 'consent', message: START_TEXTS.settingsUnagreed(open, startOf(request, terms)) });
  return needs;
}

function sessionRefusal(request: ContractRequest): Message | null {
  try {
    prepareContract(request);
    return null;
  } catch (error) {
    return refusalIn(error);
  }
}

/** Returns the given arguments, with a placeholder for each missing one, which is added to `needs`. */
function argumentsOf({ projectDir, task, args = {}, plan }: Examined, needs: Need[]): Record<string, string> {
  const { frontmatter } = findTask(projectDir, task, Boolean(plan)).checked;
  const declared = frontmatter?.args ?? [];
  const missing = declared.filter((name) => !Object.hasOwn(args, name));
  const text = argumentProblems(missing, {}).join('\n');
  if (missing.length > 0) needs.push({ what: 'arguments', message: { text } });
  return { ...Object.fromEntries(missing.map((name) => [name, 'VALUE'])), ...args };
}

/** Returns the message of a refusal. Throws every other error. */
function refusalIn(error: unknown): Message {
  if (error instanceof RalphError) return error.advised;
  throw error;
}
