/** What every loop of a project leaves to the ones after it, relative to the project. */
export const GUARDRAILS = '.claude/ralph/guardrails.md';
export const LEARNINGS = '.claude/context/memory/learnings.md';
export const DECISIONS = '.claude/context/memory/decisions.md';
