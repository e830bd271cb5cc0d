import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { wholePrompt } from '../../engine/prompt/assemble-prompt.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { SpawnRecord } from '../../engine/schema/records.ts';
import { hasRules } from '../../guard/guard.ts';
import { readRegularFile, writeAtomically, writeRecord } from '../../state/files/regular-file.ts';
import { clientConfigDir } from '../../state/home-folder.ts';
import { type LoopFiles, makeRuntimeDir, orLogged } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { splitFrontmatter } from '../../task/frontmatter/split-frontmatter.ts';
import { taskKind } from '../../task/task-file.ts';
import { RalphError } from '../../text/message.ts';
import { redact } from '../../text/redact/redact.ts';
import { readOpenTask } from '../records/open-task-file.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import { type Prompt, withTurnState } from '../turn/turn.ts';
import { ROUTER_TEXTS } from './messages.ts';
import { lastSpawn, promptPath, type Router, readSpawn, type SpawnAnswer } from './router.ts';

export function assign(router: Router, { assembled }: Prompt): SpawnAnswer {
  const contract = router.turn.loaded.stored?.contract;
  if (contract === undefined) throw new RalphError('contract-changed', HOOK_TEXTS.orphaned);
  const record = keep(router, contract, wholePrompt(assembled));
  if (hasRules(contract.guardrails)) router.notes.push(...unguarded(router, contract, record));
  return answerAgain(router, record);
}

/** Returns a warning if no hook enforces the guardrails of the task on the subagent. */
function unguarded({ options }: Router, contract: Contract, { answer: { agentType: type } }: SpawnRecord): string[] {
  if (type === ANY_AGENT) return [show(ROUTER_TEXTS.unguarded)];
  const foreign = foreignAgent(type, contract, options.env);
  return foreign === null ? [] : [show(ROUTER_TEXTS.foreignAgent(type, foreign))];
}

export function answerAgain(router: Router, { answer }: SpawnRecord): SpawnAnswer {
  const { options, files, turn } = router;
  const report = `${options.program} router report${options.options} --spawn ${answer.spawn}`;
  const { prompt, ...rest } = answer;
  const promptFile = showPrompt(files, prompt, turn.context.now());
  return {
    ...rest,
    promptFile,
    next: ROUTER_TEXTS.thenSpawn(answer.agentType, promptFile, report),
    notes: router.notes,
    // Last, because the client may truncate a long answer.
    prompt,
  };
}

/** Stores a new spawn. Under the lock, so that an older holder cannot overwrite the spawn of the next one. */
function keep(router: Router, contract: Contract, prompt: string): SpawnRecord {
  const { files, turn, options } = router;
  const { state } = turn.loaded;
  const iteration = state.iteration + 1;
  return withTurnState(turn, () => {
    const before = readSpawn(files);
    const limit = contract.policy.pace.iterationTimeoutMs;
    const scope = (contract.policy.plan && readOpenTask(files, contract)?.scope) ?? [];
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
        allowedScope: scope.length === 0 ? null : [...scope],
        timeoutSeconds: limit === null ? null : limit / 1000,
        prompt,
      },
    };
    writeRecord(files.spawn, record);
    return { next: 'keep', result: record };
  });
}

/** Writes the prompt, which the answer also contains, to a project file for a host that cannot copy it. */
function showPrompt(files: LoopFiles, prompt: string, at: string): string | null {
  const path = promptPath(files);
  const shown = orLogged(files, at, 'prompt', () => {
    const masked = redact(prompt);
    if (readRegularFile(path, Buffer.byteLength(masked)) !== masked) {
      makeRuntimeDir(files);
      writeAtomically(path, masked);
    }
    return relative(files.projectDir, path);
  });
  return shown ?? null;
}

const ANY_AGENT = 'general-purpose';

/** Hook that enforces a loop's guardrails in our agents. */
const OUR_HOOK = /ralph-router-tool-use\.cjs/;
const MAX_BYTES = 1024 * 1024;

/** Returns the subagent type: an auditor for a prompt file, a developer otherwise, if they are installed. */
function agentType({ projectDir, taskPath, tdd, policy }: Contract, env: NodeJS.ProcessEnv): string {
  const audits = taskKind(taskPath) === 'prompt' && tdd === undefined && !policy.plan;
  const wanted = audits ? 'ralph-qa' : 'ralph-developer';
  return agentFile(wanted, projectDir, env) === null ? ANY_AGENT : wanted;
}

/** Returns the file of an agent without our hooks, such as the user's own of that name; null if it has them. */
function foreignAgent(type: string, { projectDir }: Contract, env: NodeJS.ProcessEnv): string | null {
  const file = agentFile(type, projectDir, env);
  if (file === null) return null;
  return OUR_HOOK.test(splitFrontmatter(readRegularFile(file, MAX_BYTES) ?? '').frontmatter) ? null : file;
}

/** Returns the file of an agent that the client uses: the project's before the user's; null if neither exists. */
function agentFile(type: string, projectDir: string, env: NodeJS.ProcessEnv): string | null {
  const files = [join(projectDir, '.claude'), clientConfigDir(env)].map((folder) =>
    join(folder, 'agents', `${type}.md`),
  );
  return files.find((file) => existsSync(file)) ?? null;
}
