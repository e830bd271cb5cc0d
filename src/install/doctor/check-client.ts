import { atLeast } from '../../core/versions.ts';
import { type Examined, type Finding, fine } from './finding.ts';

const TAKES_CONTEXT = '2.1.163';
const BLOCKS_ON_FAILURE = '2.1.295';
const TESTED = '2.1.330';

/** The client itself: found, and new enough. */
export function checkClient({ client }: Examined): Finding[] {
  const check = 'client';
  if (client === null) {
    const message = 'claude was not found on PATH.';
    const mend = 'install Claude Code (npm install -g @anthropic-ai/claude-code), or set RALPH_CLAUDE to its path.';
    return [{ check, level: 'error', message, mend }];
  }
  const { path, version } = client;
  const update = 'update it: claude update.';
  const warning = (message: string, mend = update): Finding[] => [{ check, level: 'warning', message, mend }];
  if (version === null) return warning(`${path} does not say its version.`, 'see whether it starts: claude --version.');
  if (!atLeast(version, TAKES_CONTEXT)) {
    return warning(
      `claude ${version} is older than ${TAKES_CONTEXT}: the prompt can go back as a reason only, and guardrails that fail let calls through.`,
    );
  }
  if (!atLeast(version, BLOCKS_ON_FAILURE)) {
    return warning(
      `claude ${version} is older than ${BLOCKS_ON_FAILURE}: a guardrail that crashes lets the call through.`,
    );
  }
  return [fine(check, `claude ${version} (tested with ${TESTED}).`)];
}
