/** The task file of a loop that names none, relative to the project. */
export const DEFAULT_TASK = '.claude/ralph/PROMPT.md';
