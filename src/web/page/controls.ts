import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import type { LoopRow } from '../model/report-data.ts';
import { type Access, act } from './connection.ts';

interface Button {
  readonly kind: string;
  readonly label: string;
  /** Asked before it is done. */
  readonly question?: string;
}

/** What can be done with a loop in this state, the commonest first. */
function buttonsFor(status: string): Button[] {
  const cancel = {
    kind: 'cancel',
    label: 'Cancel',
    question: 'Cancel the loop now? The work in progress stays as it is.',
  };
  const stop = { kind: 'stop', label: 'Stop after this iteration' };
  if (status === 'paused' || status === 'interrupted') return [{ kind: 'resume', label: 'Resume' }, stop, cancel];
  const wake = status === 'waiting' ? [{ kind: 'wake', label: 'Continue now' }] : [];
  return [...wake, { kind: 'pause', label: 'Pause' }, stop, cancel];
}

/** Steers and controls a live loop. */
export function Controls({ row, access }: { readonly row: LoopRow; readonly access: Access }) {
  const [said, setSaid] = useState('');
  const [answer, setAnswer] = useState('');
  const [asked, setAsked] = useState<Button | null>(null);
  useEffect(() => setAsked(null), [row.key, row.status]);
  const give = async (command: object): Promise<void> => {
    setAsked(null);
    setAnswer('…');
    setAnswer(await act(access, row.key, command));
  };
  const steer = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (said.trim() === '') return;
    await give({ kind: 'steer', text: said });
    setSaid('');
  };
  return html`<section class="controls" aria-label="Control">
    <form onSubmit=${steer}><label>Tell the agent <input type="text" value=${said} maxlength="8000" placeholder="It is delivered once, at its next step."
      onInput=${(event: Event) => setSaid((event.target as HTMLInputElement).value)} /></label> <button disabled=${said.trim() === ''}>Send</button></form>
    <div class="buttons">${
      asked === null
        ? buttonsFor(row.status).map(
            (button) =>
              html`<button class=${button.kind} onClick=${() => (button.question === undefined ? give({ kind: button.kind }) : setAsked(button))}>${button.label}</button>`,
          )
        : html`<span role="alertdialog" aria-label=${asked.question}>${asked.question} <button class="cancel" onClick=${() => give({ kind: asked.kind })}>Yes, ${asked.label.toLowerCase()}</button> <button onClick=${() => setAsked(null)}>No</button></span>`
    }</div>
    <p role="status" class="dim">${answer}</p>
  </section>`;
}
