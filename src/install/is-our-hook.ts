/**
 * Whether a hook entry of a settings file is one that this program wrote, in this version or another: its command
 * begins with our guard and runs one of our files in the project's hooks folder.
 */
export function isOurHook(entry: unknown): boolean {
  if (typeof entry !== 'object' || entry === null) return false;
  const { command, args } = entry as { command?: unknown; args?: unknown };
  if (typeof command !== 'string') return false;
  if (Array.isArray(args)) {
    const file = `\${CLAUDE_PROJECT_DIR}/.claude/hooks/ralph-`;
    return command === 'node' && args.some((word) => String(word).startsWith(file));
  }
  return (
    command.startsWith('[ "$RALPH_ACTIVE" = 1 ] || exit 0; ') &&
    command.includes(' "$CLAUDE_PROJECT_DIR/.claude/hooks/ralph-')
  );
}
