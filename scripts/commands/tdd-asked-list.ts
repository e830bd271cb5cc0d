import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { RalphError } from '../../src/core/ralph-error.ts';
import { readScenarios, type WantedScenario } from '../../src/task/tdd/read-scenarios.ts';
import type { CommandContext } from './command.ts';
import { readTaskText } from './read-task-text.ts';

export interface AskedList {
  /** null where none were named: those that lie there are taken over. */
  readonly wanted: readonly WantedScenario[] | null;
  /** For every scenario that has none of its own. */
  readonly command: string | null;
  readonly timeoutSeconds: number | null;
}

/** What the options of `tdd init` ask for. Throws RalphError `usage` where they do not fit together. */
export function askedList({ values }: CommandContext): AskedList {
  const commands = texts(values['command']);
  const scenarios = texts(values['scenario']);
  const input = values['input'];
  const timeout = values['timeout'];
  if (typeof input === 'string' && scenarios.length > 0) {
    throw new RalphError('usage', '--input and --scenario exclude each other.');
  }
  if (typeof timeout === 'string' && !/^\d+$/.test(timeout)) {
    throw new RalphError('usage', `--timeout takes whole seconds, not "${timeout}".`);
  }
  const empty = [...commands, ...scenarios].some((text) => text.trim() === '');
  if (empty) throw new RalphError('usage', 'an empty --scenario or --command says nothing.');
  const paired = commands.length > 1;
  if (paired && commands.length !== scenarios.length) {
    throw new RalphError(
      'usage',
      `${commands.length} commands for ${scenarios.length} scenarios: give one for all, or one for each --scenario.`,
    );
  }
  const named = scenarios.map((description, at) => ({
    id: null,
    description,
    run: paired ? (commands[at] ?? null) : null,
    timeoutSeconds: null,
  }));
  return {
    wanted: typeof input === 'string' ? readInput(input) : named.length > 0 ? named : null,
    command: paired ? null : (commands[0] ?? null),
    timeoutSeconds: typeof timeout === 'string' ? Number(timeout) : null,
  };
}

function readInput(input: string): WantedScenario[] {
  if (input === '-') return readScenarios(readFileSync(0, 'utf8'), 'standard input');
  return readScenarios(readTaskText(resolve(input), input), input);
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
}
