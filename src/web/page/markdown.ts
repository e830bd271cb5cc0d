import { html } from 'htm/preact';
import { clean } from './text.ts';

/** Kinds of blocks, by their lines. A line that begins none continues a paragraph. */
const FENCE = /^\s*(?:```|~~~)/;
const HEADING = /^#{1,6}\s+(.*?)\s*#*$/;
const ITEM = /^\s*(?:[-*+]|\d+[.)])\s+(.*)$/;
const COMMENT = /<!--[\s\S]*?-->/g;

/** Shows a text with its headings, lists, paragraphs and code. Everything else in it stays text. */
export function Markdown({ text }: { readonly text: string }) {
  const blocks: unknown[] = [];
  let items: unknown[] = [];
  let words: string[] = [];
  let code: string[] | null = null;
  const end = (): void => {
    if (words.length > 0) blocks.push(html`<p>${inline(words.join(' '))}</p>`);
    if (items.length > 0) blocks.push(html`<ul>${items}</ul>`);
    words = [];
    items = [];
  };
  const endCode = (): void => {
    if (code !== null) blocks.push(html`<pre tabindex="0">${code.join('\n')}</pre>`);
    code = null;
  };
  for (const line of clean(text).replace(COMMENT, '').split('\n')) {
    const [heading, item] = [HEADING.exec(line)?.[1], ITEM.exec(line)?.[1]];
    if (FENCE.test(line)) {
      if (code === null) {
        end();
        code = [];
      } else endCode();
    } else if (code !== null) code.push(line);
    else if (line.trim() === '') end();
    else if (heading !== undefined) {
      end();
      blocks.push(html`<p class="title">${inline(heading)}</p>`);
    } else if (item !== undefined) {
      if (words.length > 0) end();
      items.push(html`<li>${inline(item)}</li>`);
    } else if (items.length > 0 && /^\s/.test(line)) items.push(html`<li class="more">${inline(line.trim())}</li>`);
    else {
      if (items.length > 0) end();
      words.push(line.trim());
    }
  }
  endCode();
  end();
  return html`<div class="markdown">${blocks}</div>`;
}

function inline(text: string): unknown[] {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((piece) => {
    if (piece.startsWith('`') && piece.length > 2) return html`<code>${piece.slice(1, -1)}</code>`;
    return piece.startsWith('**') && piece.length > 4 ? html`<b>${piece.slice(2, -2)}</b>` : piece;
  });
}
