import { join } from 'node:path';
import { PARALLEL_TEXTS } from '../../../drive/parallel/messages.ts';
import { lastLoopIn } from '../../../drive/start/find-task.ts';
import { prepareStart, prepareWithMode, withFlag } from '../../../drive/start/prepare-contract.ts';
import type { Prepared, StartRequest } from '../../../drive/start/stages.ts';
import { checkWorktree } from '../../../drive/worktree/make-worktree.ts';
import { worktreePlace } from '../../../drive/worktree/worktree-place.ts';
import type { Batch, BatchTask } from '../../../engine/schema/batch.ts';
import { clientFinder } from '../../../hosts/hosts.ts';
import { loopFiles } from '../../../state/loop-files.ts';
import { show } from '../../../state/process/program.ts';
import { RalphError } from '../../../text/message.ts';
import { quoted } from '../../../text/quote.ts';
import { type Command, type CommandContext, parseOptions } from '../../command.ts';
import { startTarget } from '../../start/start-request.ts';
import { setUpRequest } from '../in-worktree.ts';

/** A task, or the plan of all tasks (null), as its own run would start it. */
export interface Asked {
  readonly task: BatchTask | null;
  readonly label: string;
  readonly prepared: Prepared;
  /** Options added by the user's answers. */
  readonly words: readonly string[];
  /** True if only the answers of this start name a permission mode. */
  readonly lacksMode: boolean;
}

/** Prepares each task that has not ended, with `mode` for those that name none. Throws RalphError with all problems. */
export function askedTasks(
  context: CommandContext,
  command: Command,
  batch: Batch,
  { mode, found }: { readonly mode: string; readonly found: readonly string[] },
): Asked[] {
  const { projectDir, env } = context;
  const { plan } = batch;
  const asked: Asked[] = [];
  const problems = [...found];
  let isNamed = false;
  const client = clientFinder(env);
  for (const task of plan === undefined ? batch.tasks.filter(({ step }) => step !== 'ended') : [null]) {
    const label = task?.taskPath ?? plan?.path ?? '';
    try {
      if (task?.step === 'waiting')
        checkWorktree({ ...task, projectDir, existing: batch.fresh ? 'fresh' : 'refuse', env });
      const own = ownContext(context, command, batch, task);
      const made = setUpRequest(own, startTarget(own, 'run'), plan === undefined ? null : { from: plan.from });
      const request: StartRequest = { ...made, clientVersion: (host) => client(host).version };
      const { prepared, lacksMode } = prepareWithMode(request, mode);
      asked.push({ task, label, prepared, lacksMode, words: lacksMode ? [`--permission-mode=${mode}`] : [] });
    } catch (error) {
      if (!(error instanceof RalphError) || error.code === 'client-missing') throw error;
      const problem = show(error.advised, { name: task?.name ?? null, mode: 'runner' });
      const namesTask = error.code === 'task-missing' || error.advised.task === label;
      problems.push(namesTask ? problem : PARALLEL_TEXTS.invalid(label, problem));
      isNamed ||= error.code === 'name-taken';
    }
  }
  if (isNamed) problems.push(PARALLEL_TEXTS.otherName);
  if (problems.length > 0) throw new RalphError('task-invalid', problems.join('\n'));
  return asked;
}

/** Returns a task with the user's answer about the sandbox, if that was open. */
export function withSandbox(asked: Asked, mode: 'on' | 'off'): Asked {
  const { prepared, words } = asked;
  if (prepared.terms.unsandboxed !== 'not-set') return asked;
  const request = withFlag(prepared.request, 'sandbox.mode', mode);
  return { ...asked, prepared: prepareStart(request), words: [...words, `--set=sandbox.mode=${mode}`] };
}

/** Returns the command line of a task's run, in its worktree if its loop has begun; null is the plan. */
function ownContext(context: CommandContext, command: Command, batch: Batch, task: BatchTask | null): CommandContext {
  const { projectDir, env } = context;
  const { resume: _, ...given } = context.values;
  const { values: former } = parseOptions(command, [...batch.words, ...(task?.words ?? [])]);
  const { name = null, taskPath = batch.plan?.path ?? '', step } = task ?? {};
  const place = name !== null && step === 'started' ? worktreePlace(projectDir, name) : { projectDir };
  const files = loopFiles(place.projectDir, name, env);
  const begun = place.projectDir !== projectDir && lastLoopIn(files) !== null;
  const loop = name ?? undefined;
  const values = { ...given, ...former, loop, ...(begun ? { resume: true } : { task: join(projectDir, taskPath) }) };
  const own = begun ? { projectDir: place.projectDir, files } : { files: loopFiles(projectDir, name, env) };
  return { ...context, ...own, rest: batch.rest, positionals: [], values };
}

/** Returns the command that starts these tasks. */
export function startOf(asked: readonly Asked[], isPlan: boolean): string {
  return `run ${asked.map(({ label }) => quoted(label)).join(' ')}${isPlan ? ' --plan' : ''}`;
}
