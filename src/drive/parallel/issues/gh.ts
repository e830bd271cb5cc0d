import { spawnSync } from 'node:child_process';
import { onPath } from '../../../state/process/find-program.ts';
import { jsonOrNull } from '../../../text/json.ts';
import { RalphError } from '../../../text/message.ts';
import { ISSUE_TEXTS } from '../messages.ts';

export interface Gh {
  readonly projectDir: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Runs the user's own `gh` without a shell and without questions. Throws `refused` if it is missing or fails. */
export function gh({ projectDir, env }: Gh, words: readonly string[], input = ''): string {
  const program = onPath('gh', env);
  if (program === null) throw new RalphError('refused', ISSUE_TEXTS.noGh);
  // What forces colours would put them into JSON.
  const { CLICOLOR_FORCE: _, GH_FORCE_TTY: __, ...plain } = env;
  const own = { ...plain, GH_PROMPT_DISABLED: '1', NO_COLOR: '1' };
  const options = { cwd: projectDir, env: own, input, encoding: 'utf8', maxBuffer: 1 << 26, timeout: 120_000 } as const;
  const { status, stdout, stderr, error } = spawnSync(program, words, options);
  if (status === 0) return stdout;
  const complaint = (error?.message ?? stderr).trim();
  throw new RalphError('refused', ISSUE_TEXTS.failed(words.slice(0, 2).join(' '), complaint));
}

/** The same for an answer in JSON; null for another one. */
export const ghJson = (from: Gh, words: readonly string[]): unknown => jsonOrNull(gh(from, words));
