import { availableParallelism } from 'node:os';
import type { Integrate } from '../../../drive/parallel/batch.ts';
import { PARALLEL_TEXTS } from '../../../drive/parallel/messages.ts';
import type { Batch } from '../../../engine/schema/batch.ts';
import { RalphError } from '../../../text/message.ts';
import { parseDuration } from '../../../text/time.ts';
import { type CommandContext, numberOf, valuesOf, wholeOf } from '../../command.ts';
import { SETTING_OPTIONS } from '../../start/start-options.ts';

const BUDGETS = ['max-time', 'max-cost', 'max-tokens'];

/** Options without effect on several tasks, on those of a plan, and on resumed ones. */
const FOREIGN = {
  tasks: ['loop', 'task', 'path', 'tdd', 'arg', 'consent', 'from', 'max-tasks', 'dry-run'],
  plan: ['loop', 'tdd', 'arg', 'consent', 'issue', 'issues', 'dry-run'],
  resumed: ['loop', 'tdd', 'arg', 'plan', 'from', 'fresh', 'issue', 'issues', 'dry-run'],
} as const;

/** Throws `usage` for an option that would have no effect. */
export function refuseForeign({ values, files }: CommandContext, what: keyof typeof FOREIGN): void {
  const stray = FOREIGN[what].find((key) => values[key] !== undefined && String(values[key]) !== '');
  const text = what === 'resumed' ? PARALLEL_TEXTS.notResumed : PARALLEL_TEXTS.noWord;
  if (stray !== undefined) throw new RalphError('usage', text(stray));
  if (files.name !== null) throw new RalphError('usage', PARALLEL_TEXTS.loopVariable(files.name));
}

/** Returns the options that apply to each loop separately; the budget covers all of them together. */
export function wordsOf(context: CommandContext): string[] {
  const { values } = context;
  const single = [...Object.keys(SETTING_OPTIONS), 'agent', 'worktree-setup', 'require-verified'].filter(
    (key) => key !== 'set' && !BUDGETS.includes(key),
  );
  const given = single.flatMap((key) => {
    const value = values[key];
    return value === undefined ? [] : value === true ? [`--${key}`] : [`--${key}=${value}`];
  });
  return [...given, ...valuesOf(context, 'set').map((pair) => `--set=${pair}`)];
}

/** Returns the words without the permission mode, which has to be given at each start. */
export function withoutMode(words: readonly string[]): string[] {
  const isMode = /^--(?:permission-mode(?:=.*)?|dangerously-skip-permissions)$/;
  return words.filter((word, at) => !isMode.test(word) && words[at - 1] !== '--permission-mode');
}

export function limitsOf(context: CommandContext): Batch['limits'] {
  const { values } = context;
  const time = values['max-time'];
  const maxTimeMs = time === undefined ? null : parseDuration(String(time));
  if (time !== undefined && (maxTimeMs === null || maxTimeMs <= 0))
    throw new RalphError('usage', `--max-time ${time}: give a duration such as 8h or 90m.`);
  return { maxCostUsd: numberOf(context, 'max-cost'), maxTokens: numberOf(context, 'max-tokens'), maxTimeMs };
}

export function atOnceOf(context: CommandContext): number {
  if (context.values['parallel'] === 'auto') return Math.max(1, Math.floor(availableParallelism() / 2));
  return wholeOf(context, 'parallel', 1, 64);
}

export function integrateOf(value: unknown): Integrate {
  if (value === undefined) return 'none';
  const known = (['none', 'merge', 'rebase', 'pr'] as const).find((how) => how === value);
  if (known === undefined) throw new RalphError('usage', PARALLEL_TEXTS.integrateWord(String(value)));
  return known;
}
