import { html } from 'htm/preact';
import type { Proof } from '../../engine/schema/proof.ts';
import { statusSentence } from '../../text/status-words.ts';
import type { Outcome } from '../model/report-data.ts';

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
  none: 'Nothing: the checks passed before as well, and no change of a file of the project was seen.',
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
  return html`<span class=${`badge ${toneOf(status, verified)}`}>${statusSentence(status, verified)}</span>`;
}
