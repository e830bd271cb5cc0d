import { join, relative } from 'node:path';
import { settingsOf } from '../../drive/start/read-settings.ts';
import { placeFile, readText, safePath } from '../../install/project-files.ts';
import { insertIntoJson, memberOf, parseSettings } from '../../install/settings/settings-sources.ts';
import { checkTaskFile } from '../../task/check/check-task-file.ts';
import { VALIDATION_TIMEOUT_SECONDS } from '../../task/settings/defaults.ts';
import { DEFAULT_TASK, PROJECT_CONFIG } from '../../task/task-file.ts';
import { table } from '../../term/format.ts';
import { RalphError } from '../../text/message.ts';
import { type Command, options } from '../command.ts';

export const CONFIG_COMMAND: Command = {
  name: 'config',
  usage: '[--max-iterations N]',
  help: 'Shows the settings that a loop on PROMPT.md would start with. --max-iterations writes that limit into .claude/ralph/config.json; options, the environment and the frontmatter of the task file take precedence over it. A running loop keeps its limit.',
  example: 'ralph-loop config --max-iterations 30',
  options: options({ 'max-iterations N': 'Limit of iterations, 1 to 100.' }),
  control: true,
  run(context) {
    const { values, projectDir, env, files } = context;
    const wanted = values['max-iterations'];
    if (typeof wanted === 'string') {
      const text = readText(safePath(projectDir, PROJECT_CONFIG)) ?? '';
      placeFile(projectDir, PROJECT_CONFIG, withValue(text, 'max_iterations', limit(wanted)), 0o644);
    }
    const { maxIterations, completionSignal, sources } = effectiveSettings(projectDir, env);
    const source = sources['max_iterations'] ?? 'default';
    if (typeof wanted === 'string' && source !== 'project config')
      context.err(`ralph-loop: written, but the ${source} sets ${maxIterations}, which takes precedence.`);
    const answer = {
      maxIterations,
      completionSignal,
      stateFile: files.state,
      promptFile: join(projectDir, '.claude', 'ralph', 'PROMPT.md'),
      guardrailsFile: join(projectDir, '.claude', 'ralph', 'guardrails.md'),
      maxIterationsFrom: source,
    };
    // The keys of a task file, into which a reader copies them.
    const rows = [
      ['max_iterations', `${maxIterations} (${source})`],
      ['completion_signal', completionSignal ?? 'none'],
      ['state file', relative(projectDir, answer.stateFile)],
      ['prompt file', relative(projectDir, answer.promptFile)],
      ['guardrails file', relative(projectDir, answer.guardrailsFile)],
    ];
    context.answer(answer, () => table(rows));
    return 0;
  },
};

function limit(text: string): number {
  const value = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= 100) return value;
  throw new RalphError('usage', `--max-iterations must be an integer from 1 to 100, but is "${text}".`);
}

/** Returns the settings with which a loop on PROMPT.md would start. Throws `task-invalid` with the problems of all sources. */
export function effectiveSettings(projectDir: string, env: NodeJS.ProcessEnv) {
  const task = readText(join(projectDir, DEFAULT_TASK));
  const checked = task === null ? null : checkTaskFile(DEFAULT_TASK, task);
  const { frontmatter = null } = checked ?? {};
  const resolved = settingsOf(projectDir, DEFAULT_TASK, false, { kind: 'prompt', env, frontmatter });
  // A template that is not yet filled in still has settings.
  const wrong = checked?.frontmatter === null ? checked.problems : [];
  const errors = [...wrong, ...resolved.problems].filter(({ severity }) => severity === 'error');
  if (!resolved.ok || errors.length > 0) {
    const list = errors.map(({ line, message }) => `  ${line === null ? '' : `${DEFAULT_TASK}:${line}: `}${message}`);
    throw new RalphError('task-invalid', `the settings of this project have errors:\n${list.join('\n')}`);
  }
  const { completion, maxIterations } = resolved.policy;
  const timeouts = resolved.settings.validation.map((entry) => (typeof entry === 'string' ? undefined : entry.timeout));
  return {
    maxIterations,
    completionSignal: completion.kind === 'none' ? null : completion.text,
    policy: resolved.policy,
    gateSeconds: timeouts.reduce<number>((sum, seconds) => sum + (seconds ?? VALIDATION_TIMEOUT_SECONDS), 0),
    sources: resolved.sources,
  };
}

function withValue(text: string, key: string, value: number): string {
  const root = parseSettings(text, PROJECT_CONFIG);
  if (root === null) return `${JSON.stringify({ [key]: value }, null, 2)}\n`;
  const old = memberOf(root, key);
  if (old !== null) return text.slice(0, old.offset) + JSON.stringify(value) + text.slice(old.offset + old.length);
  const insertion = insertIntoJson(text, root, key, value);
  return text.slice(0, insertion.offset) + insertion.text + text.slice(insertion.offset);
}
