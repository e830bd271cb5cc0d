/** How the loop stands, as the band and the pane show it. */
export interface LoopView {
  /** One line: state, iteration, cost. */
  readonly line: string;
  /** Until when the loop waits, in milliseconds since 1970; null while it does not. */
  readonly until: number | null;
  /** What `ralph-loop explain` says, line by line. */
  readonly rows: readonly string[];
}

declare module 'claude-code' {
  interface PluginState {
    readonly 'ralph-loop': { readonly view: LoopView | null; readonly now: number; readonly isPaneDrawn: boolean };
  }
}
