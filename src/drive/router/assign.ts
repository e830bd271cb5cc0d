import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, relative } from 'node:path';
import type { Effect } from '../../engine/effects.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { hasRules } from '../../guard/guard-rules.ts';
import { readContract } from '../../state/contract-store.ts';
import { readRegularFile } from '../../state/files/read-regular-file.ts';
import { writeAtomically } from '../../state/files/write-atomically.ts';
import { log } from '../../state/log.ts';
import { type LoopFiles, makeRuntimeDir } from '../../state/loop-files.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import { splitFrontmatter } from '../../task/frontmatter/split-frontmatter.ts';
import { taskKind } from '../../task/task-file.ts';
import { openPlan } from '../plan/on-plan.ts';
import { readOpenTask } from '../plan/open-task-file.ts';
import { readTask } from '../prompt/read-task.ts';
import { freshPrompt } from '../turn/make-prompt.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import { feed, isStep } from '../turn/turn.ts';
import { ROUTER_TEXTS } from './messages.ts';
import { notesOf, type Router, RouterLeft, type SpawnAnswer } from './router.ts';
import { lastSpawn, readSpawn, type SpawnRecord, writeSpawn } from './spawn-record.ts';

type HandedOut = { readonly answer: SpawnAnswer } | { readonly meanwhile: readonly Effect[] };

/**
 * Makes the prompt of the next iteration and hands it out as a new spawn, or gives what has to be done instead because
 * something came in while it was made.
 */
export async function handOut(router: Router, step: Extract<Effect, { type: 'prompt' }>): Promise<HandedOut> {
  const { files, turn } = router;
  const { state } = turn.loaded;
  const { now } = turn.context;
  // A contract that the user has accepted meanwhile counts from this iteration on.
  const stored = readContract(files);
  if (stored?.contract.loopId !== state.loopId) return { meanwhile: [] };
  turn.loaded = { ...turn.loaded, stored, policy: stored.contract.policy };
  const instead = await openPlan(turn, (message) => turn.notes.push(message));
  if (instead !== null) return { meanwhile: instead };
  const task = readTask(files.projectDir, state.taskPath);
  if (task === null) {
    const message = HOOK_TEXTS.taskMissing(state.taskPath);
    return { meanwhile: feed(turn, { type: 'task-missing', at: now(), message }) };
  }
  const made = await freshPrompt(turn, stored, step, task.body, router.options.tell);
  if (made === 'aborted') {
    feed(turn, { type: 'prompt-made', at: now(), outcome: 'given-up' });
    throw new RouterLeft();
  }
  const effects = feed(turn, { type: 'prompt-made', at: now(), outcome: 'ready' });
  if (effects.some(isStep)) return { meanwhile: effects };
  // Whoever stood in its way is gone again: it is made anew.
  if (made === 'overtaken') return { meanwhile: [step] };
  const record = keep(router, stored.contract, made.prompt);
  if (hasRules(stored.contract.guardrails)) turn.notes.push(...unguarded(router, stored.contract, record));
  return { answer: handOutAgain(router, record) };
}

/** That nothing holds the subagent to the rules of its task, where that is so. */
function unguarded({ options }: Router, contract: Contract, { answer: { agentType: type } }: SpawnRecord): string[] {
  if (type === ANY_AGENT) return [ROUTER_TEXTS.unguarded];
  const foreign = foreignAgent(type, contract, options.env);
  return foreign === null ? [] : [ROUTER_TEXTS.foreignAgent(type, foreign)];
}

/** The piece of work that the host has in hand already. */
export function handOutAgain(router: Router, { answer }: SpawnRecord): SpawnAnswer {
  const { options, files, turn } = router;
  const report = `${options.program} router report${options.options} --spawn ${answer.spawn}`;
  const { prompt, ...rest } = answer;
  const promptFile = showPrompt(files, prompt, turn.context.now());
  return {
    ...rest,
    promptFile,
    next: ROUTER_TEXTS.thenSpawn(answer.agentType, promptFile, report),
    notes: notesOf(router),
    // Last: where the client shows a long answer in part, what the host must know stands before it.
    prompt,
  };
}

/** Under the lock, so that a holder from before cannot write over what the one after it has handed out. */
function keep(router: Router, contract: Contract, prompt: string): SpawnRecord {
  const { files, turn, options } = router;
  const { state } = turn.loaded;
  const iteration = state.iteration + 1;
  return withState(files, { ...LOCK_WAIT, ...(turn.lease && { lease: turn.lease }) }, () => {
    const before = readSpawn(files);
    const limit = contract.policy.pace.iterationTimeoutMs;
    const record: SpawnRecord = {
      loopId: state.loopId,
      epoch: state.epoch,
      heard: false,
      heardOf: before?.loopId === state.loopId ? before.heardOf : null,
      doubts: 0,
      answer: {
        action: 'spawn',
        spawn: lastSpawn(files, state) + 1,
        loopId: state.loopId,
        loop: files.name,
        iteration,
        maxIterations: state.maxIterations,
        agentType: agentType(contract, options.env),
        description: `ralph iteration ${iteration}`,
        allowedScope: scopeOf(files, contract),
        timeoutSeconds: limit === null ? null : limit / 1000,
        prompt,
      },
    };
    writeSpawn(files, record);
    return { next: 'keep', result: record };
  });
}

/**
 * A help for a host that would have to copy a long prompt; without it the prompt stands in the answer all the same. The
 * file lies in the project, where it may have been removed or changed since the prompt was made.
 */
function showPrompt(files: LoopFiles, prompt: string, at: string): string | null {
  const path = join(files.runtimeDir, `ralph-prompt${files.name === null ? '' : `.${files.name}`}.md`);
  try {
    if (readRegularFile(path, Buffer.byteLength(prompt)) !== prompt) {
      makeRuntimeDir(files);
      writeAtomically(path, prompt);
    }
    return relative(files.projectDir, path);
  } catch (error) {
    log(files, at, 'prompt', (error as Error).message);
    return null;
  }
}

/** What the task of a plan may change; no other loop has a scope. */
function scopeOf(files: LoopFiles, { policy, loopId }: Contract): readonly string[] | null {
  const task = policy.plan ? readOpenTask(files, loopId) : null;
  return task === null || task.scope.length === 0 ? null : task.scope;
}

/** Serves where the project has no agent of ours. */
export const ANY_AGENT = 'general-purpose';

/** The hook by which an agent of ours is held to the rules of a loop. */
const OUR_HOOK = /ralph-router-tool-use\.cjs/;
const MAX_BYTES = 1024 * 1024;

/**
 * The subagent for a task: one that audits for a prompt file, one that develops for everything else; the client's own
 * where the project and the user have no such agent.
 */
export function agentType({ projectDir, taskPath, tdd, policy }: Contract, env: NodeJS.ProcessEnv): string {
  const audits = taskKind(taskPath) === 'prompt' && tdd === undefined && !policy.plan;
  const wanted = audits ? 'ralph-qa' : 'ralph-developer';
  return agentFile(wanted, projectDir, env) === null ? ANY_AGENT : wanted;
}

/** Where the file of an agent lies that has not the hooks of ours: somebody's own under the same name; null where it has them. */
export function foreignAgent(type: string, { projectDir }: Contract, env: NodeJS.ProcessEnv): string | null {
  const file = agentFile(type, projectDir, env);
  if (file === null) return null;
  return OUR_HOOK.test(splitFrontmatter(readRegularFile(file, MAX_BYTES) ?? '').frontmatter) ? null : file;
}

/** The file of an agent that the client takes: the project's before the user's; null where neither has one. */
function agentFile(type: string, projectDir: string, env: NodeJS.ProcessEnv): string | null {
  const users = env['CLAUDE_CONFIG_DIR'] || join(env['HOME'] || homedir(), '.claude');
  const files = [join(projectDir, '.claude'), users].map((folder) => join(folder, 'agents', `${type}.md`));
  return files.find((file) => existsSync(file)) ?? null;
}
