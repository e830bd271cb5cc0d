import { html } from 'htm/preact';
import { ago, moment } from './text.ts';

/** Shows an instant as a distance from now, and exactly when pointed at. */
export function When({ at, now = Date.now() }: { readonly at: string; readonly now?: number }) {
  return html`<time datetime=${at} title=${moment(at)}>${ago(at, now)}</time>`;
}
