import { assemblePrompt, wholePrompt } from '../../engine/prompt/assemble-prompt.ts';
import { buildContract } from '../../task/settings/build-contract.ts';
import { extraSections, guardrailsPath, realFindings } from '../prompt/extra-sections.ts';
import { readTask } from '../prompt/read-task.ts';
import { promptWith } from '../turn/task-prompt.ts';
import { beginningState } from './beginning-state.ts';
import type { Prepared, StartBaseline } from './stages.ts';
import { unasked } from './start-loop.ts';

/** Id of a loop that is only looked at. */
const PREVIEWED = 'preview';
const NOTHING_TOLD = { notices: { rejection: [], misplacedSignal: null, warnings: [] }, steering: [] };

/** Returns the prompt with which the first iteration of a run would begin. Nothing is started or stored. */
export function previewPrompt(prepared: Prepared, baseline: StartBaseline | null): string {
  const { request, files, terms } = prepared;
  const contract = { ...buildContract({ ...terms, loopId: PREVIEWED }).contract, evidence: {} };
  const state = beginningState(unasked(prepared), null, PREVIEWED);
  const text = readTask(files.projectDir, terms.taskPath);
  if (text === null) return '';
  const findings = realFindings(files, { hash: '', contract }, null);
  const now = (): string => request.at;
  const { task, policy } = contract;
  if (task !== null) {
    const asked = { files, contract, task, state, text, told: NOTHING_TOLD, findings, now, fresh: true };
    return wholePrompt(promptWith(asked, baseline?.evidence ?? []).prompt);
  }
  const assembled = assemblePrompt({
    ...NOTHING_TOLD,
    findings,
    body: text.body,
    beside: extraSections(files, contract, request.at, true),
    iteration: 1,
    maxIterations: state.maxIterations,
    taskPath: terms.taskPath,
    guardrailsPath: guardrailsPath(files.projectDir),
    completion: policy.completion,
    idle: policy.idle !== null,
  });
  return wholePrompt(assembled);
}
