/** The kinds of task a loop can have. A plan and a TDD loop have files of their own. */
export type TaskKind = 'prompt' | 'ralph-md' | 'checklist' | 'plan' | 'tdd';

/** Whether a loop on this kind of task has a folder of its own, with run state, commands and a gate. */
export function hasFolder(kind: TaskKind): boolean {
  return kind === 'ralph-md' || kind === 'checklist';
}

/** What a task file is, by its name: RALPH.md, task.md (a checklist), and every other file is a prompt. */
export function taskKind(path: string): TaskKind {
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
  if (name === 'RALPH.md') return 'ralph-md';
  return name === 'task.md' ? 'checklist' : 'prompt';
}
