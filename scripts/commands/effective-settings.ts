import { join } from 'node:path';
import { RalphError } from '../../src/core/ralph-error.ts';
import type { Policy } from '../../src/core/schema/policy.ts';
import { userConfigPath } from '../../src/drive/read-configs.ts';
import { readText } from '../../src/install/read-text.ts';
import { CONFIG_PATH } from '../../src/install/set-project-config.ts';
import { checkTaskFile } from '../../src/task/check-task-file.ts';
import { DEFAULT_TASK } from '../../src/task/default-task.ts';
import { normaliseValidation } from '../../src/task/normalise-validation.ts';
import { resolvePolicy } from '../../src/task/resolve-policy.ts';
import type { Source } from '../../src/task/setting-layers.ts';

export interface EffectiveSettings {
  readonly maxIterations: number;
  /** null where a loop would have none. */
  readonly completionSignal: string | null;
  readonly policy: Policy;
  /** Seconds that the commands of the gate may take together. */
  readonly gateSeconds: number;
  /** Where each value comes from, by key path. */
  readonly sources: Readonly<Record<string, Source>>;
}

/** What a loop on PROMPT.md would start with now. Throws `task-invalid` with every problem in any source. */
export function effectiveSettings(projectDir: string, env: NodeJS.ProcessEnv): EffectiveSettings {
  const task = readText(join(projectDir, DEFAULT_TASK));
  const checked = task === null ? null : checkTaskFile(DEFAULT_TASK, task);
  const resolved = resolvePolicy({
    kind: 'prompt',
    env,
    frontmatter: checked?.frontmatter ?? null,
    projectConfig: readJson(join(projectDir, CONFIG_PATH)),
    userConfig: readJson(userConfigPath(env)),
  });
  const errors = [...(checked?.problems ?? []), ...resolved.problems].filter(({ severity }) => severity === 'error');
  if (!resolved.ok || errors.length > 0) {
    const list = errors.map(({ line, message }) => `  ${line === null ? '' : `${DEFAULT_TASK}:${line}: `}${message}`);
    throw new RalphError('task-invalid', `the settings of this project have errors:\n${list.join('\n')}`);
  }
  const { completion, maxIterations } = resolved.policy;
  return {
    maxIterations,
    completionSignal: completion.kind === 'none' ? null : completion.text,
    policy: resolved.policy,
    gateSeconds: normaliseValidation(resolved.settings.validation).reduce(
      (sum, { timeoutSeconds }) => sum + timeoutSeconds,
      0,
    ),
    sources: resolved.sources,
  };
}

function readJson(path: string): unknown {
  const text = readText(path);
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RalphError('task-invalid', `${path} is no valid JSON: ${(error as Error).message}`, error);
  }
}
