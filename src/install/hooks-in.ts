export interface RegisteredHook {
  readonly source: string;
  readonly event: string;
  /** The command with its arguments, one blank between. */
  readonly command: string;
  /** The entry as it stands there. */
  readonly entry: Readonly<Record<string, unknown>>;
}

/** The command hooks that a settings object registers, whatever else stands in it. */
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

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}
