import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import type { Proof } from '../../engine/schema/proof.ts';
import { timeText } from '../../text/figures.ts';
import { statusSentence } from '../../text/status-words.ts';
import { localTime } from '../../text/time.ts';
import type { LoopRow, Outcome } from '../model/report-data.ts';

const ANSI = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|[@-Z\\-_])/g;
const CONTROL = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g;
/** Marks that change the direction of the following text and can disguise it. */
const BIDI = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

/** Prepares an agent's text for display: without terminal sequences, with hidden marks made visible. */
export function clean(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(ANSI, '')
    .replace(CONTROL, '\u{FFFD}')
    .replace(BIDI, (mark) => `<U+${mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}>`);
}

/** Returns text such as names, commands and paths in one line. */
export function oneLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim();
}

export function duration(milliseconds: number | null): string {
  if (milliseconds === null) return 'time unknown';
  return milliseconds === 0 ? '0s' : timeText(milliseconds);
}

/** Returns the milliseconds of a loop that count towards `max_time` until `now`, without stops; null if the clock was set back. */
export function spentMs(
  { startedAt, stoppedMs = 0, stoppedSince }: Pick<LoopRow, 'startedAt' | 'stoppedMs' | 'stoppedSince'>,
  now: number,
): number | null {
  const until = stoppedSince === undefined ? now : Math.min(now, Date.parse(stoppedSince));
  const began = Date.parse(startedAt);
  return until < began ? null : Math.max(0, until - began - stoppedMs);
}

export function clock(instant: string): string {
  return localTime(instant).slice('2026-02-28 '.length) || 'time unknown';
}

export function moment(instant: string | null): string {
  return localTime(instant ?? '') || 'time unknown';
}

/** Returns how long ago an instant was, or in how long it will be, as of `now` (epoch milliseconds). */
export function ago(instant: string, now: number): string {
  const passed = now - Date.parse(instant);
  if (Number.isNaN(passed)) return 'time unknown';
  const distance = Math.floor(Math.abs(passed) / 1_000) * 1_000;
  if (distance === 0) return 'now';
  return passed > 0 ? `${duration(distance)} ago` : `in ${duration(distance)}`;
}

/** Shows an instant as a distance from now, and exactly when pointed at. */
export function When({ at, now = Date.now() }: { readonly at: string; readonly now?: number }) {
  return html`<time datetime=${at} title=${moment(at)}>${ago(at, now)}</time>`;
}

/** Shows a command with a button that copies it, or selects it if the browser does not allow copying. */
export function Command({ text }: { readonly text: string }) {
  const [done, setDone] = useState('');
  const command = oneLine(text);
  const copy = async (event: Event): Promise<void> => {
    const code = (event.currentTarget as HTMLElement).previousElementSibling;
    try {
      await navigator.clipboard.writeText(command);
      setDone('copied');
    } catch {
      // Without the permission, or in an old browser, the user has one key left to press.
      if (code !== null) getSelection()?.selectAllChildren(code);
      setDone('selected');
    }
  };
  return html`<span class="command"><code>${command}</code><button class=${`copy ${done}`} aria-label=${`Copy ${command}`} title=${done || 'Copy'} onClick=${copy}></button></span>`;
}

/** Patterns for kinds of blocks, by their lines. A line that begins no block continues a paragraph. */
const FENCE = /^\s*(?:```|~~~)/;
const HEADING = /^#{1,6}\s+(.*?)\s*#*$/;
const ITEM = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/;
const QUOTE = /^\s*> ?(.*)$/;
const COMMENT = /<!--[\s\S]*?-->/g;

/** Shows a text with its headings, lists, quotes, paragraphs and code. Everything else in it stays text. */
export function Markdown({ text }: { readonly text: string }) {
  const blocks: unknown[] = [];
  let items: unknown[] = [];
  /** Number of the first item of an ordered list; null for another list. */
  let first: number | null = null;
  let quote: string[] = [];
  let words: string[] = [];
  let code: string[] | null = null;
  const end = (): void => {
    if (words.length > 0) blocks.push(html`<p>${inline(words.join(' '))}</p>`);
    if (items.length > 0)
      blocks.push(first === null ? html`<ul>${items}</ul>` : html`<ol start=${first}>${items}</ol>`);
    if (quote.length > 0) blocks.push(html`<blockquote>${inline(quote.join('\n'))}</blockquote>`);
    words = [];
    items = [];
    quote = [];
  };
  const endCode = (): void => {
    if (code !== null) blocks.push(html`<pre tabindex="0">${code.join('\n')}</pre>`);
    code = null;
  };
  for (const line of clean(text).replace(COMMENT, '').split('\n')) {
    const [heading, quoted] = [HEADING.exec(line)?.[1], QUOTE.exec(line)?.[1]];
    const [, number, item] = ITEM.exec(line) ?? [];
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
      const isOther = (number === undefined) !== (first === null);
      if (items.length === 0 || isOther) {
        end();
        first = number === undefined ? null : Number(number);
      }
      items.push(html`<li>${inline(item)}</li>`);
    } else if (quoted !== undefined) {
      if (quote.length === 0) end();
      quote.push(quoted);
    } else if (items.length > 0 && /^\s/.test(line)) items.push(html`<li class="more">${inline(line.trim())}</li>`);
    else {
      if (words.length === 0) end();
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

/** Label and sign of each outcome: the sign distinguishes them without colour. */
export const OUTCOMES: Readonly<Record<Outcome, { readonly sign: string; readonly label: string }>> = {
  open: { sign: '…', label: 'at work' },
  worked: { sign: '•', label: 'worked' },
  claimed: { sign: '?', label: 'claimed to be done' },
  rejected: { sign: '×', label: 'claim rejected' },
  complete: { sign: '✓', label: 'complete' },
  idle: { sign: '–', label: 'idle' },
  failed: { sign: '!', label: 'failed' },
  interrupted: { sign: '/', label: 'interrupted' },
};

/** What a completion rests on, in a sentence. */
export const PROOFS: Readonly<Record<Proof, string>> = {
  'red-to-green': 'Red to green: what failed before the start passes now.',
  'still-green': 'Still green: the checks passed before as well, so they show that nothing broke.',
  green: 'Green: whether the checks passed before the start is unknown.',
  none: 'Nothing: the checks passed before as well, and no file of the project is known to have changed.',
};

function toneOf(status: string, verified: boolean | null): 'good' | 'bad' | 'calm' | 'busy' | 'warn' {
  if (status === 'complete') return verified ? 'good' : verified === null ? 'calm' : 'warn';
  if (status === 'running' || status === 'verifying') return 'busy';
  if (/^(?:waiting|paused|awaiting-consent|interrupted|stopped|cancelled|queued)/.test(status)) return 'calm';
  return 'bad';
}

export function Badge({ status, verified }: { readonly status: string; readonly verified: boolean | null }) {
  return html`<span class=${`badge ${toneOf(status, verified)}`}>${statusSentence(status, verified)}</span>`;
}
