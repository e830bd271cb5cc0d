import { commandWords } from '../../text/shell/command-words.ts';
import type { KeyProblem } from './problem.ts';

const WRAPPERS = new Set(
  'env timeout nice nohup time command exec setsid sudo stdbuf xargs npx pnpx bunx pnpm yarn'.split(' '),
);

/** Returns whether a shell command starts Claude Code itself: by its name or path, behind a wrapper, or from its package. */
function startsClaude(command: string): boolean {
  return commandWords(command).some((words) => {
    if (words.some((word) => /@anthropic-ai\/claude-code(?:@|\/|$)/.test(word))) return true;
    for (const word of words) {
      const name = word.slice(word.lastIndexOf('/') + 1);
      if (/^claude(?:\.exe|\.cmd)?$/.test(name)) return true;
      const isBefore = WRAPPERS.has(name) || /^-|^[\d.]+[smh]?$|^\w+=/.test(word) || word === 'exec' || word === 'dlx';
      if (!isBefore) return false;
    }
    return false;
  });
}

/** Finds what `ralph-loop run` refuses beside an agent command. */
export function agentProblems({ agent }: Readonly<Record<string, unknown>>): KeyProblem[] {
  if (typeof agent !== 'string' || !startsClaude(agent)) return [];
  const message =
    'agent starts Claude Code itself. Leave the key out: ralph-loop starts Claude Code, with guard and cost.';
  return [{ keys: ['agent'], value: agent, rule: 'agent-is-claude', message, severity: 'error' }];
}
