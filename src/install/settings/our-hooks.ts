/**
 * First line of the client's hooks, which ends them without a loop, and where the launcher has passed hooks of its own
 * (Windows). A hook file is ours by this line, never by its name.
 */
export const HOOK_GUARD =
  "if(process.env.RALPH_ACTIVE!=='1'||process.env.RALPH_HOOKS&&process.argv.includes('--registered'))process.exit(0);";

export interface RegisteredHook {
  readonly source: string;
  readonly event: string;
  /** Command with its arguments, separated by blanks. */
  readonly command: string;
  readonly entry: Readonly<Record<string, unknown>>;
}

export function hooksIn(value: Readonly<Record<string, unknown>>, source: string): RegisteredHook[] {
  return entriesOf(value['hooks']).flatMap(([event, groups]) =>
    (Array.isArray(groups) ? groups : []).flatMap((group) => {
      const hooks = (group as { hooks?: unknown } | null)?.hooks;
      return (Array.isArray(hooks) ? hooks : []).flatMap((entry): RegisteredHook[] => {
        if (typeof entry !== 'object' || entry === null) return [];
        const { command, args } = entry as { command?: unknown; args?: unknown };
        const words = [command, ...(Array.isArray(args) ? args : [])];
        return [{ source, event, command: words.map(String).join(' '), entry: entry as Record<string, unknown> }];
      });
    }),
  );
}

export function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

/** Returns whether any version of this program wrote a hook entry: our guard, followed by one of our files in the project. */
export function isOurHook(entry: unknown): boolean {
  if (typeof entry !== 'object' || entry === null) return false;
  const { command, args } = entry as { command?: unknown; args?: unknown };
  if (typeof command !== 'string') return false;
  if (Array.isArray(args)) {
    const file = `\${CLAUDE_PROJECT_DIR}/.claude/hooks/ralph-`;
    return command === 'node' && args.some((word) => String(word).startsWith(file));
  }
  return (
    /^\[ "\$RALPH_ACTIVE(?:\$RALPH_HOOKS)?" = 1 \] \|\| exit 0; /.test(command) &&
    command.includes(' "$CLAUDE_PROJECT_DIR/.claude/hooks/ralph-')
  );
}
