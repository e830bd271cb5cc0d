import type { Project } from './project.ts';

export const OLD_COMMAND = 'node .claude/hooks/ralph-stop-hook.cjs';
export const OLD_PROMPT = `# Mission

Fix every finding.

## Findings Log

Write findings to \`.claude/ralph/findings.md\`.

## Completion Condition

RALPH_AUDIT_COMPLETE_NO_FINDINGS
`;

/** Stop hook as the skill's document describes it: it knows our names, our state file and our signal. */
export const OLD_HOOK = `'use strict';
if (process.env.RALPH_ACTIVE !== '1') process.exit(0);
const fs = require('node:fs');
const path = require('node:path');
const root = process.env.CLAUDE_PROJECT_DIR || process.cwd();
const stateFile = path.join(root, '.claude/context/runtime/ralph-state.json');
const input = fs.readFileSync(0, 'utf8');
if (!fs.existsSync(stateFile)) process.exit(0);
if (input.includes('RALPH_AUDIT_COMPLETE_NO_FINDINGS')) {
  fs.unlinkSync(stateFile);
  process.exit(0);
}
const state = JSON.parse(fs.readFileSync(stateFile, 'utf8'));
state.iteration += 1;
fs.writeFileSync(stateFile, JSON.stringify(state));
const reason = fs.readFileSync(path.join(root, '.claude/ralph/PROMPT.md'), 'utf8');
process.stdout.write(JSON.stringify({ decision: 'block', reason }));
`;

/** Files of the skill that ours take the place of. */
export const OLD_FILES = {
  '.claude/hooks/ralph-stop-hook.cjs': OLD_HOOK,
  '.claude/skills/ralph-loop/SKILL.md': '---\nname: ralph-loop\ndescription: the old one\n---\n# Ralph Loop\n',
  '.claude/skills/ralph-loop/scripts/main.cjs': 'console.log("{}");\n',
  '.claude/skills/ralph-loop/hooks/pre-execute.cjs': 'process.exit(0);\n',
  '.claude/skills/ralph-loop/rules/ralph-loop.md': '# Old rules\n',
  '.claude/ralph/ralph-audit.sh': '#!/bin/sh\nRALPH_ACTIVE=1 exec claude < .claude/ralph/PROMPT.md\n',
} as const;

/** Files of the user that stay where they are. */
export const OWN_FILES = {
  '.claude/ralph/PROMPT.md': OLD_PROMPT,
  '.claude/ralph/guardrails.md': '### Sign: mine\n',
  '.claude/hooks/lint.cjs': 'process.exit(0);\n',
} as const;

export const OLD_SETTINGS = {
  model: 'opus',
  hooks: {
    Stop: [
      { hooks: [{ type: 'command', command: OLD_COMMAND }] },
      { hooks: [{ type: 'command', command: 'node .claude/hooks/lint.cjs' }] },
    ],
  },
};

/** Makes the project one of a user of the agent-studio skill. */
export function writeAgentStudio({ write }: Project, settings: object = OLD_SETTINGS): void {
  for (const [path, content] of Object.entries({ ...OLD_FILES, ...OWN_FILES })) write(path, content);
  write('.claude/settings.json', settings);
}
