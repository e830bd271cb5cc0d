import { html } from 'htm/preact';
import { useState } from 'preact/hooks';

/** What opens at a click. `draw` is called while it is open: hundreds of rows that are folded away cost nothing. */
export function Fold({ summary, draw }: { readonly summary: unknown; readonly draw: () => unknown }) {
  const [isOpen, setOpen] = useState(false);
  const follow = (event: Event): void => setOpen((event.currentTarget as HTMLDetailsElement).open);
  return html`<details onToggle=${follow}><summary>${summary}</summary>${isOpen && draw()}</details>`;
}
