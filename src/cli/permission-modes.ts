/** A permission mode that a start offers, in words. */
interface PermissionMode {
  readonly name: string;
  /** What the agent may do in this mode, to follow its name. */
  readonly does: string;
  readonly advice: string;
}

/** Modes in which a loop can work, the recommended one first. */
export const PERMISSION_MODES: readonly PermissionMode[] = [
  {
    name: 'acceptEdits',
    does: 'edits files without asking',
    advice: 'writes files, runs the commands shown here',
  },
  {
    name: 'auto',
    does: 'does what Claude Code judges to be safe',
    advice: 'only for Claude Code, which judges each call; not every account has it',
  },
  {
    name: 'bypassPermissions',
    does: 'does everything that you may do',
    advice: 'may do anything that you may; only for a sandbox',
  },
];

/** The mode that a start proposes. */
export const RECOMMENDED = 'acceptEdits';

export const YES_MEANS = `--yes without a permission mode means ${RECOMMENDED}: the agent may write files and run the checks.`;

/** Returns the modes with their numbers, one line each. */
export function modeLines(): string[] {
  return PERMISSION_MODES.map(({ name, advice }, index) => {
    const mark = name === RECOMMENDED ? ' (recommended)' : '';
    return `${index + 1}  ${name}${mark}: ${advice}`;
  });
}
