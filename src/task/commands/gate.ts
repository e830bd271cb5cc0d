import { resolve } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import type { CommandDefinition, Contract, EvidenceCommand, TaskTerms } from '../../engine/schema/contract.ts';
import type { Seen } from '../../engine/schema/records.ts';
import { show } from '../../state/process/program.ts';
import { advise } from '../../text/message.ts';
import { listed } from '../../text/quote.ts';
import { contradictionText, failedTestsText, ranNothing } from '../../text/test-results/test-summary.ts';
import { taskCommand } from '../frontmatter/placeholders.ts';
import { checkFindingsLog, checkTaskOutputs } from '../outputs/check-task-outputs.ts';
import { changedScripts } from '../pinned-scripts/contract-scripts.ts';
import { taskKind } from '../task-file.ts';
import type { CleanCopy } from './clean-copy.ts';
import type { TaskCommandEnd, TaskCommandOptions } from './run-pinned-command.ts';
import { pinsNamedBy, runPinnedCommand, runTaskCommand } from './run-pinned-command.ts';

/**
 * Verifies a claim of completion. A required gate checks outputs and open questions and, if these pass and no finding is
 * open, runs the acceptance commands. Every loop runs its validation commands in order, and checks the findings log.
 * Commands whose scripts changed since the start are not run. Returns no result if there is nothing to check. Rejects only
 * with the abort reason, after all processes have ended.
 */
export async function runGate(
  contract: Contract,
  projectDir: string,
  options: TaskCommandOptions & { readonly seen?: Seen },
): Promise<CheckResult[]> {
  const { seen } = options;
  options.signal.throwIfAborted();
  const task = requiredGate(contract);
  const written = () => ({
    findings: checkFindingsLog(projectDir, contract.findingsLog, seen?.findings ?? []),
    outputs: task === null ? [] : checkTaskOutputs(projectDir, contract.taskPath, task, seen),
  });
  const before = written();
  const isReady = before.findings === null && before.outputs.every(({ outcome }) => outcome === 'ok');
  const accepted = (task?.commands ?? []).filter(({ acceptance }) => isReady && acceptance);
  const ran = await runCheckCommands(contract, projectDir, accepted, options);
  // Without a command that runs them, scripts prove nothing.
  if (ran.length > 0) ran.push(...changedByThemselves(contract, projectDir, options.iteration));
  // A command may have removed an output, and the user may have added findings meanwhile.
  const { findings, outputs } = isReady ? written() : before;
  return [...outputs, ...ran, ...(findings === null ? [] : [findings])];
}

/**
 * Runs only the commands that prove the work, in a checkout without the other things that a claim needs. Rejects only with
 * the abort reason.
 */
export async function runProofs(
  contract: Contract,
  projectDir: string,
  options: TaskCommandOptions,
): Promise<CheckResult[]> {
  options.signal.throwIfAborted();
  const accepted = (requiredGate(contract)?.commands ?? []).filter(({ acceptance }) => acceptance);
  const results = await runCommands(contract, projectDir, accepted, options, null);
  return results.length === 0 ? [] : [...results, ...changedByThemselves(contract, projectDir, options.iteration)];
}

/** Runs these acceptance commands and the validation commands, in order, on a clean copy if the contract requires one. */
export async function runCheckCommands(
  contract: Contract,
  projectDir: string,
  accepted: readonly EvidenceCommand[],
  options: TaskCommandOptions,
): Promise<CheckResult[]> {
  const copy = await copyFor(contract, projectDir, [...accepted, ...contract.validation], options);
  if (typeof copy === 'string') return [{ name: 'clean copy', outcome: 'unavailable', detail: copy }];
  try {
    return await runCommands(contract, projectDir, accepted, options, copy);
  } finally {
    copy?.remove();
  }
}

/** Returns the clean copy for the commands, null if they run in the project, or why the copy could not be created. */
async function copyFor(
  contract: Contract,
  projectDir: string,
  [first]: readonly CommandDefinition[],
  { env, signal, copies }: TaskCommandOptions,
): Promise<CleanCopy | string | null> {
  if (contract.verifyIn === undefined || copies === undefined || first === undefined) return null;
  const { makeCleanCopy } = await import('./clean-copy.ts');
  const options = { env, signal, view: copies.view, sandbox: contract.sandbox };
  const { root, commit } = copies;
  const request = { contract, projectDir, root, options, timeoutMs: first.timeoutSeconds * 1000 };
  return makeCleanCopy({ ...request, ...(commit !== undefined && { commit }) });
}

async function runCommands(
  contract: Contract,
  projectDir: string,
  accepted: readonly EvidenceCommand[],
  given: TaskCommandOptions,
  copy: CleanCopy | null,
): Promise<CheckResult[]> {
  const options = copy === null ? given : { ...given, copy };
  const results: CheckResult[] = [];
  // The set-up of a copy counts towards the time limit of the first command.
  const limited = <T extends CommandDefinition>(command: T): T => {
    const spent = results.length === 0 ? Math.floor((copy?.spentMs ?? 0) / 1000) : 0;
    return { ...command, timeoutSeconds: Math.max(1, command.timeoutSeconds - spent) };
  };
  const check = async <T extends CommandDefinition>(
    command: T,
    run: (command: T, options: TaskCommandOptions) => Promise<TaskCommandEnd>,
  ): Promise<void> => {
    options.onCheck?.(command.name);
    const result = checkResult(command, await run(limited(command), options));
    if (copy === null || !mayPassElsewhere(result)) {
      results.push(result);
      return;
    }
    const inProject = checkResult(command, await run(command, given));
    const isCommit = given.copies?.commit !== undefined;
    results.push(inProject.outcome === 'ok' ? failsOnCopy(result, copy.lacks, isCommit) : inProject);
  };
  for (const command of accepted) await check(command, (here, how) => runTaskCommand(contract, projectDir, here, how));
  for (const command of contract.validation) {
    const directory = resolve(projectDir);
    await check(command, (here, how) => runPinnedCommand(contract, projectDir, { ...here, directory }, how));
  }
  return results;
}

/** Returns the terms of a required gate, or null. A promise in a prompt file implies one without required files. */
export function requiredGate({ task, taskPath, policy, tdd }: Contract): Partial<TaskTerms> | null {
  if (task !== null) return task.gate === 'required' ? task : null;
  const isPrompt = taskKind(taskPath) === 'prompt' && policy.plan === undefined && tdd === undefined;
  return isPrompt && policy.completion.kind === 'promise' ? { openQuestions: 'optional' } : null;
}

/** Checks scripts that can be reached only through a changed script (a missing package.json). */
function changedByThemselves(contract: Contract, projectDir: string, iteration: number): CheckResult[] {
  const unnamed = new Set(Object.keys(contract.scripts));
  const commands = [
    ...contract.validation.map(({ run }) => ({ run, directory: resolve(projectDir) })),
    ...(contract.task?.commands ?? []).map((command) => taskCommand(contract, projectDir, command, iteration)),
  ];
  for (const command of commands) {
    for (const key of pinsNamedBy(contract, projectDir, command).keys) unnamed.delete(key);
  }
  return changedScripts(contract, projectDir, [...unnamed]).map(({ key, what }) => {
    return { name: key, outcome: 'changed', detail: changedText(what) };
  });
}

export function checkResult({ name, run, timeoutSeconds }: CommandDefinition, end: TaskCommandEnd): CheckResult {
  switch (end.kind) {
    case 'blocked':
      return { name, outcome: 'unavailable', detail: `it was not run, since a guardrail blocks it: ${end.rule}` };
    case 'changed':
      return { name, outcome: 'changed', detail: changedText(end.what) };
    case 'ran':
      return {
        name,
        ...verdict(end, timeoutSeconds, run),
        ...(end.outcome.tests !== null && { tests: end.outcome.tests }),
      };
    default:
      return end satisfies never;
  }
}

/** Maximum length of what a package printed before its tests failed. */
const MAX_PART = 6000;
/** With these words, npm, pnpm and yarn pass silently if no package has the script. */
const OPTIONAL =
  /^(?!.*\s(?:-s|--(?:silent|reporter|loglevel)|exec|dlx)\b).*(?:\s(?:--if-present|workspaces\s+foreach)|\bpnpm\s(?:.*\s)?(?:-r|-F|--recursive|--filter))\b/;
const NO_SCRIPT = 'exit code 0, but no package had the script to run, which proves nothing.';
/** A call of a test runner with another reporter, or passing without tests. */
const UNCOUNTED =
  /(?:^|[\s/])(?:jest|vitest|mocha|ava|tap|playwright|rspec|--test)\s(?:.*\s)?(?:-[Rf]|--(?:test-)?reporters?|--format|--pass-?[Ww]ith-?[Nn]o-?[Tt]ests|--list-?[Tt]ests)(?:[\s=]|$)/;
/** A reporter that prints a dot for each test, but does not show which were skipped. */
const DOTS = /--(?:test-)?reporters?[ =]dot/;
const NO_COUNT =
  'its reporter does not say how many tests ran, so a pass proves nothing. Add the default one to the command, which only the user may change.';
/** Output of a shell that does not find a program. */
const NOT_FOUND = /^(?:\S*sh: (?:(?:line )?\d+: )?|(?:line )?\d+: )(\S+): (?:command )?not found$/m;
const VACUOUS = 'exit code 0, but its test runner reports no test that it executed, which proves nothing.';

function verdict(
  { outcome: { end, output, tests }, hidden }: Extract<TaskCommandEnd, { kind: 'ran' }>,
  timeoutSeconds: number,
  run: string,
): Omit<CheckResult, 'name'> {
  const hides = end.kind === 'exit' && end.code === 0 ? hidden() : null;
  const [, lacks = ''] = NOT_FOUND.exec(output.text()) ?? [];
  const failed = failedTestsText(tests);
  const printed = output.failedPart(MAX_PART) ?? output.text();
  const with_ = (text: string): string => (printed === '' ? `${text} It printed nothing.` : `${text}\n${printed}`);
  switch (end.kind) {
    case 'exit':
      if (end.code !== 0)
        return { outcome: 'failed', exitCode: end.code, detail: with_(failed ?? `exit code ${end.code}.`) };
      if (hides !== null) return { outcome: 'unavailable', detail: `it ${hides} Only the user may change that.` };
      if (isAbsence(run, lacks))
        return { outcome: 'unavailable', detail: `it passes because the program "${lacks}" is not on the PATH.` };
      if (tests !== null && tests.failed > 0) return { outcome: 'failed', detail: with_(contradictionText(tests)) };
      if (ranNothing(tests)) return { outcome: 'vacuous', detail: with_(VACUOUS) };
      if (tests === null && calls(UNCOUNTED, run, printed) && !(calls(DOTS, run, printed) && /^[.X]+$/m.test(printed)))
        return { outcome: 'unavailable', detail: NO_COUNT };
      return OPTIONAL.test(run) && printed.split('\n').every((line) => IDLE_LINE.test(line))
        ? { outcome: 'vacuous', detail: with_(NO_SCRIPT) }
        : { outcome: 'ok', detail: 'exit code 0.' };
    case 'signal':
      return { outcome: 'failed', detail: with_(`ended by ${end.signal}.`) };
    case 'timeout':
      return { outcome: 'timeout', detail: with_(`not done after ${timeoutSeconds} s, so it was ended.`) };
    case 'unavailable':
      return { outcome: 'unavailable', detail: `it could not be started: ${end.why}.` };
    default:
      return end satisfies never;
  }
}

/** Returns whether a check also passes if a program does not run: `! todo src`, `test -z "$(gofmt -l .)"`. */
function isAbsence(run: string, program: string): boolean {
  const before = run.slice(0, Math.max(0, run.indexOf(program)));
  return !run.includes('||') && /(?:(?:^|[;&|(\n])\s*!\s[^;&]*|\s-z\s+"?(?:\$\(|`)[^)]*)$/.test(before);
}

/** Returns whether a command, or the command that a package manager prints before running it, has this form. */
function calls(form: RegExp, run: string, printed: string): boolean {
  return [run, ...printed.split('\n').filter((line) => /^[>$] /.test(line))].some((line) =>
    form.test(line.slice(0, 1000)),
  );
}

/** Lines that a package manager prints even if it runs nothing: how many packages it has looked at, and warnings. */
const IDLE_LINE = /^(?:|Scope: .*|Done in [\dms .]+|npm (?:warn|WARN|notice)\b.*| ?WARN .*)$/;

/** Says why a command whose scripts changed was not run, and how to continue. */
export function changedText(what: string): string {
  const text = `${what} since the loop started, so it was not run. Restore it. If the task has to change it, the user lists it under may_change.`;
  return show(advise(text, 'If the change is right, ask the user to adopt it', 'accept'));
}

/** Returns whether a check that did not pass on a copy may pass in the project: the copy may lack a file that it needs. */
export function mayPassElsewhere({ outcome }: CheckResult): boolean {
  return outcome === 'failed' || outcome === 'vacuous' || outcome === 'timeout';
}

const MOST_SHOWN = 8;
const LOOPS_OWN = /^\.(?:claude|ralph)(?:\/|$)/;
const WAY_OUT =
  'Put what the work needs into files that git does not ignore. Only the user can name ignored files under worktree_copy, or set verify_in: project.';

/** Explains a check that passes in the project but fails on a copy of it, or of a commit. `lacks`: ignored files and folders. */
export function failsOnCopy(result: CheckResult, lacks: readonly string[], isCommit: boolean): CheckResult {
  const ignored = lacks.filter((path) => !LOOPS_OWN.test(path));
  const named = ignored.flatMap((path) => mentionOf(path, result.detail) ?? []);
  const place = isCommit ? 'commit' : 'clean copy';
  const begin = `passes in the project, fails on the ${place}`;
  const cause =
    named.length > 0
      ? `, which lacks ignored files: ${listed(named, MOST_SHOWN)}.`
      : `, which lacks all changes outside the task${ignored.length === 0 ? '' : ` and the ignored ${listed(ignored, MOST_SHOWN)}`}.`;
  return { ...result, detail: `${begin}${cause} ${WAY_OUT}\n${result.detail}` };
}

/** Returns the path, or a path below it, as a text mentions it; null if it mentions none. */
function mentionOf(path: string, text: string): string | null {
  const literal = path.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  return new RegExp(`(?<![\\w.-])${literal}(?:/[\\w./-]*\\w)?(?![\\w-])`).exec(text)?.[0] ?? null;
}
