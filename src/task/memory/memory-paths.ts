/** Files that loops leave for later ones, relative to the project. */

export const GUARDRAILS = '.claude/ralph/guardrails.md';
export const LEARNINGS = '.claude/context/memory/learnings.md';
export const DECISIONS = '.claude/context/memory/decisions.md';

/** File with the loop's own memory, shown to the agent; never a required output. */
export const PROGRESS_FILE = 'RALPH_PROGRESS.md';
