/** State of the loop, as the band and the pane show it. */
export interface LoopView {
  /** One line: state, iteration, cost. */
  readonly line: string;
  /** Until when the loop waits, in milliseconds since 1970; null while it does not. */
  readonly until: number | null;
  /** Reason, next step, last check, iterations and what led there, line by line, the most important first. */
  readonly rows: readonly string[];
}

declare module 'claude-code' {
  interface PluginState {
    readonly 'ralph-loop': { readonly view: LoopView | null; readonly now: number; readonly isPaneDrawn: boolean };
  }
}
