import type { LoopState } from '../engine/schema/state.ts';

/** Of which loop a text of ours speaks. */
export type AdvisedLoop = Pick<LoopState, 'name' | 'mode'>;

/** The engine advises how a session goes on: by a start, or by its launcher. */
const START =
  /main\.cjs start(?= --(?:resume|fresh)\b)( --resume --launch \(the launcher: ralph-audit\.sh --resume\))?/g;

/** What starts and resumes a loop, by what drives it. */
const STARTERS: Record<LoopState['mode'], string> = { hook: 'start', runner: 'run', router: 'router start' };

/**
 * The commands that a text of ours advises, made to mean the loop that it is about: they start it as it is driven, and
 * a named one has to be named. A command that names a loop already stays as it is.
 */
export function forLoop(text: string, { name, mode }: AdvisedLoop): string {
  const driven = mode === 'hook' ? text : text.replace(START, (_, launch) => startOf(mode, launch !== undefined));
  if (name === null) return driven;
  return driven.replace(
    /(?:main\.cjs (?!list\b)(?:router )?[a-z]+|ralph-audit\.sh)\b(?! --loop)/g,
    (command) => `${command} --loop ${name}`,
  );
}

function startOf(mode: LoopState['mode'], resumes: boolean): string {
  return `main.cjs ${STARTERS[mode]}${resumes ? ' --resume' : ''}`;
}
