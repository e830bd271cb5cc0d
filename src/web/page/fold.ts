import { html } from 'htm/preact';
import { useState } from 'preact/hooks';

/** State of printing: on paper, nothing can be opened. */
export const paper = { isPrinting: false };

interface FoldProps {
  readonly summary: unknown;
  /** Called only while it is open: hundreds of folded rows cost nothing. */
  readonly draw: () => unknown;
  readonly isPrinted?: boolean;
}

/** Shows a section that opens at a click, and on paper. */
export function Fold({ summary, draw, isPrinted = true }: FoldProps) {
  const [isOpen, setOpen] = useState(false);
  const isShown = isOpen || (isPrinted && paper.isPrinting);
  const follow = (event: Event): void =>
    paper.isPrinting ? undefined : setOpen((event.currentTarget as HTMLDetailsElement).open);
  return html`<details open=${isShown} onToggle=${follow}><summary>${summary}</summary>${isShown && draw()}</details>`;
}
