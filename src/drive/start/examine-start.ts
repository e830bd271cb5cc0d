import type { Contract } from '../../engine/schema/contract.ts';
import { argumentProblems, buildContract } from '../../task/settings/build-contract.ts';
import { type Message, RalphError } from '../../text/message.ts';
import { unmatchedWarning } from '../control/unmatched-patterns.ts';
import { LAUNCH_TEXTS, START_TEXTS } from '../turn/messages.ts';
import { findTask } from './find-task.ts';
import { prepareContract, requireOpenItems } from './prepare-contract.ts';
import type { ContractRequest, PreparedContract } from './stages.ts';
import { startOf, unagreedSettings } from './terms/agreed-settings.ts';

type Examined = Pick<ContractRequest, 'projectDir' | 'name' | 'task' | 'env' | 'at' | 'args' | 'plan'>;

/** Something that the user gives at a start. */
interface Need {
  readonly what: 'arguments' | 'permission mode' | 'consent';
  /** What `run` says without it. */
  readonly message: Message;
}

/** What a start of a task would say, without anything being started. */
export interface StartProblems {
  /** Why `run` refuses the task as its files are; null if it does not. */
  readonly refusal: Message | null;
  /** Why a session refuses a task that `run` takes. */
  readonly inSession: Message | null;
  readonly needs: readonly Need[];
  /** Names globs that no file matches; null without them or with a refusal. */
  readonly unmatched: string | null;
  /** The contract of a run, with stand-ins for missing arguments; null with a refusal. */
  readonly contract: Contract | null;
}

/** Examines a task by the functions that start it, so that what they refuse is known before. Changes nothing. */
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

/** Returns the arguments that are given, and a stand-in for each missing one, which it adds to what a start needs. */
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
