import { html } from 'htm/preact';
import type { Outcome } from '../model/report-data.ts';
import { statusText } from '../model/status-text.ts';

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

/** Returns the tone of a loop's status, for its badge. */
export function toneOf(status: string, verified: boolean): 'good' | 'bad' | 'calm' | 'busy' | 'warn' {
  if (status === 'complete') return verified ? 'good' : 'warn';
  if (status === 'running' || status === 'verifying') return 'busy';
  if (/^(?:waiting|paused|awaiting-consent|interrupted|stopped|cancelled|queued)/.test(status)) return 'calm';
  return 'bad';
}

/** Shows a loop's status in a word. */
export function Badge({ status, verified }: { readonly status: string; readonly verified: boolean }) {
  return html`<span class=${`badge ${toneOf(status, verified)}`}>${statusText(status, verified)}</span>`;
}
