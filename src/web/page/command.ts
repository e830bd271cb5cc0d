import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { oneLine } from './text.ts';

/** Shows a command with a button that copies it; where the browser refuses that, the button selects it. */
export function Command({ text }: { readonly text: string }) {
  const [done, setDone] = useState('');
  const command = oneLine(text);
  const copy = async (event: Event): Promise<void> => {
    const code = (event.currentTarget as HTMLElement).previousElementSibling;
    try {
      await navigator.clipboard.writeText(command);
      setDone('copied');
    } catch {
      // Without the permission, or in an old browser: one key is left to the user.
      if (code !== null) getSelection()?.selectAllChildren(code);
      setDone('selected');
    }
  };
  return html`<span class="command"><code>${command}</code><button class=${`copy ${done}`} aria-label=${`Copy ${command}`} title=${done || 'Copy'} onClick=${copy}></button></span>`;
}
