import { join } from 'node:path';
import { RalphError } from '../../src/core/ralph-error.ts';
import { setProjectConfig } from '../../src/install/set-project-config.ts';
import { table } from '../../src/term/table.ts';
import type { Command } from './command.ts';
import { effectiveSettings } from './effective-settings.ts';

export const CONFIG_COMMAND: Command = {
  name: 'config',
  summary: 'Show the settings of this project, or set its limit of iterations.',
  usage: '[--max-iterations N]',
  help: 'Shows what a loop on PROMPT.md would start with now. With --max-iterations it writes the limit, 1 to 100, into .claude/ralph/config.json. A flag, the environment and the frontmatter of the task file win over that file. A loop that runs keeps the limit it was started with.',
  options: { 'max-iterations': { type: 'string', value: 'N', help: 'Iterations a loop gets, 1 to 100.' } },
  control: true,
  run(context) {
    const { values, projectDir, env, files } = context;
    const wanted = values['max-iterations'];
    if (typeof wanted === 'string') setProjectConfig(projectDir, 'max_iterations', limit(wanted));
    const { maxIterations, completionSignal, sources } = effectiveSettings(projectDir, env);
    const source = sources['max_iterations'] ?? 'default';
    if (typeof wanted === 'string' && source !== 'project config') {
      context.err(`ralph: written, but the ${source} says ${maxIterations}, which wins.`);
    }
    const answer = {
      maxIterations,
      completionSignal,
      stateFile: files.state,
      promptFile: join(projectDir, '.claude', 'ralph', 'PROMPT.md'),
      guardrailsFile: join(projectDir, '.claude', 'ralph', 'guardrails.md'),
      maxIterationsFrom: source,
    };
    context.out(context.forPeople ? forReading(answer) : JSON.stringify(answer, null, 2));
    return 0;
  },
};

function limit(text: string): number {
  const value = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= 100) return value;
  throw new RalphError('usage', `--max-iterations must be an integer from 1 to 100, but is "${text}".`);
}

function forReading(answer: Readonly<Record<string, string | number | null>>): string {
  return table(Object.entries(answer).map(([key, value]) => [key, String(value)]));
}
