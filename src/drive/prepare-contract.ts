import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { RalphError } from '../core/ralph-error.ts';
import type { Policy } from '../core/schema/policy.ts';
import { STOP_TIMEOUT_SECONDS } from '../core/stop-timeout.ts';
import type { ContractTerms } from '../task/build-contract.ts';
import { checkTaskFile } from '../task/check-task-file.ts';
import { costProblem } from '../task/cost-problem.ts';
import { DEFAULT_TASK } from '../task/default-task.ts';
import type { ValidationEntry } from '../task/frontmatter-schema.ts';
import { normaliseValidation } from '../task/normalise-validation.ts';
import { NO_GUARDRAILS } from '../task/policy-defaults.ts';
import type { Problem } from '../task/problem.ts';
import { type ResolvedPolicy, resolvePolicy, type Settings } from '../task/resolve-policy.ts';
import { splitFrontmatter } from '../task/split-frontmatter.ts';
import { LAUNCH_TEXTS, START_TEXTS } from './texts.ts';

export interface ContractRequest {
  readonly projectDir: string;
  readonly name: string | null;
  /** Absolute, or relative to the project; null is PROMPT.md. */
  readonly task: string | null;
  /** Settings given on the command line, by key path. */
  readonly flags: Readonly<Record<string, string | number | boolean>>;
  readonly env: NodeJS.ProcessEnv;
  readonly at: string;
  /** Whether the user has agreed to the loop; false where an agent asks for it. */
  readonly consented: boolean;
  readonly headless: boolean;
  /** A launcher starts the client, with our status line and with a permission mode that must be known. */
  readonly launched: boolean;
  readonly clientVersion: string | null;
  readonly bundleDir: string | null;
}

export interface PreparedContract {
  readonly resolved: Extract<ResolvedPolicy, { ok: true }>;
  readonly terms: Omit<ContractTerms, 'loopId'>;
  readonly warnings: readonly Problem[];
}

/**
 * Reads the task file and every source of settings once, and checks them. Throws RalphError with every problem at once.
 */
export function prepareContract(request: ContractRequest): PreparedContract {
  const { projectDir, env } = request;
  const absolute = resolve(projectDir, request.task ?? DEFAULT_TASK);
  const taskPath = relative(projectDir, absolute).replaceAll('\\', '/');
  if (taskPath.startsWith('..') || isAbsolute(taskPath)) {
    throw new RalphError('task-missing', START_TEXTS.taskOutside(absolute, projectDir));
  }
  const text = readTaskText(absolute, taskPath);
  const { frontmatter, body } = splitFrontmatter(text);
  const checked = checkTaskFile(taskPath, text);
  if (checked.kind !== 'prompt') throw new RalphError('task-invalid', START_TEXTS.kindComesLater(taskPath));
  refuse(checked.problems, taskPath);
  const resolved = resolvePolicy({
    kind: checked.kind,
    flags: request.flags,
    env,
    frontmatter: checked.frontmatter,
    projectConfig: readJson(join(projectDir, '.claude', 'ralph', 'config.json')),
    userConfig: readJson(userConfigPath(env)),
  });
  refuse(resolved.problems, taskPath);
  if (!resolved.ok) throw new RalphError('task-invalid', START_TEXTS.invalid(taskPath, ''));
  // The client tells its cost to a status line, and runs one only in a terminal.
  const problem = unkeptProblem(resolved.settings);
  if (problem !== null) throw new RalphError('task-invalid', problem);
  if (request.launched && request.headless && resolved.settings.permissionMode === null) {
    throw new RalphError('usage', LAUNCH_TEXTS.needsMode);
  }
  const slow = timeoutProblem(resolved.policy, resolved.settings.validation);
  if (slow !== null) throw new RalphError('task-invalid', slow);
  const cost = costProblem(resolved.policy.budget, request.launched && !request.headless);
  if (cost !== null) throw new RalphError('task-invalid', cost);
  const warnings = [...checked.problems, ...resolved.problems].filter(({ severity }) => severity === 'warning');
  return {
    resolved,
    warnings,
    terms: {
      name: request.name,
      projectDir,
      taskPath,
      task: null,
      guardrails: NO_GUARDRAILS,
      createdAt: request.at,
      frontmatter,
      head: text.slice(0, text.length - body.length),
      policy: resolved.policy,
      validation: resolved.settings.validation,
      findingsLog: resolved.settings.findingsLog,
      consented: request.consented,
      clientVersion: request.clientVersion,
      headless: request.headless,
      flags: request.flags,
      bundleDir: request.bundleDir,
    },
  };
}

function readTaskText(path: string, shown: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new RalphError('task-missing', START_TEXTS.taskUnreadable(shown, code ?? 'unknown'), error);
  }
  if (text.trim() === '') throw new RalphError('task-missing', START_TEXTS.taskEmpty(shown));
  return text;
}

function refuse(problems: readonly Problem[], taskPath: string): void {
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return;
  const list = errors.map(
    ({ line, path, message }) =>
      `  ${line !== null && line > 0 ? `line ${line}: ` : ''}${path !== '' && !message.includes(path) ? `${path}: ` : ''}${message}`,
  );
  throw new RalphError('task-invalid', START_TEXTS.invalid(taskPath, list.join('\n')));
}

/** Parsed JSON, undefined where there is no file. */
function readJson(path: string): unknown {
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new RalphError('task-invalid', START_TEXTS.badConfig(path, (error as Error).message), error);
  }
}

export function userConfigPath(env: NodeJS.ProcessEnv): string {
  const base = env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config');
  return join(base, 'ralph-loop', 'config.json');
}

/** Settings that this version reads and does not keep: a guardrail that is believed and missing is worse than none. */
function unkeptProblem({ privateFiles, strict }: Settings): string | null {
  if (privateFiles.length > 0) return START_TEXTS.notKept('guardrails.private_files');
  return strict ? START_TEXTS.notKept('guardrails.strict') : null;
}

/** The Stop hook sleeps and checks inside its registered timeout: what could not end within it is refused here. */
function timeoutProblem(policy: Policy, validation: readonly ValidationEntry[]): string | null {
  const checks = normaliseValidation(validation).reduce((sum, { timeoutSeconds }) => sum + timeoutSeconds, 0);
  const longest = Math.max((policy.idle?.maxDelayMs ?? 0) / 1000, policy.backgroundWaitMs / 1000, checks);
  return longest < STOP_TIMEOUT_SECONDS ? null : START_TEXTS.tooSlow(longest, STOP_TIMEOUT_SECONDS);
}
