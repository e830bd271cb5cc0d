import { html } from 'htm/preact';
import { useState } from 'preact/hooks';

/** Shows a section that opens at a click. `draw` is called only while it is open: hundreds of folded rows cost nothing. */
export function Fold({ summary, draw }: { readonly summary: unknown; readonly draw: () => unknown }) {
  const [isOpen, setOpen] = useState(false);
  const follow = (event: Event): void => setOpen((event.currentTarget as HTMLDetailsElement).open);
  return html`<details onToggle=${follow}><summary>${summary}</summary>${isOpen && draw()}</details>`;
}
