import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import type { Control, LoopRow } from '../model/report-data.ts';
import { type Access, act } from './connection.ts';

interface Button {
  readonly label: string;
  /** Asked before it is done. */
  readonly question?: string;
}

const BUTTONS: Readonly<Record<Exclude<Control, 'steer'>, Button>> = {
  wake: { label: 'Continue now' },
  pause: { label: 'Pause' },
  resume: { label: 'Resume' },
  retry: { label: 'Retry' },
  stop: { label: 'Stop after this iteration' },
  cancel: { label: 'Cancel', question: 'Cancel the loop now? The work in progress stays as it is.' },
};

/** Steers and controls a loop, as far as it can be now. */
export function Controls({ row, access }: { readonly row: LoopRow; readonly access: Access }) {
  const [said, setSaid] = useState('');
  const [answer, setAnswer] = useState('');
  const [asked, setAsked] = useState<keyof typeof BUTTONS | null>(null);
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
  const buttons = row.controls.flatMap((kind) => (kind === 'steer' ? [] : [{ kind, ...BUTTONS[kind] }]));
  return html`<section class="controls" aria-label="Control">
    ${
      row.controls.includes('steer') &&
      html`<form onSubmit=${steer}><label>Tell the agent <input type="text" value=${said} maxlength="8000" placeholder="It is delivered once, at its next step."
      onInput=${(event: Event) => setSaid((event.target as HTMLInputElement).value)} /></label> <button disabled=${said.trim() === ''}>Send</button></form>`
    }
    <div class="buttons">${
      asked === null
        ? buttons.map(
            ({ kind, label, question }) =>
              html`<button class=${kind} onClick=${() => (question === undefined ? give({ kind }) : setAsked(kind))}>${label}</button>`,
          )
        : html`<span role="alertdialog" aria-label=${BUTTONS[asked].question}>${BUTTONS[asked].question} <button class="cancel" onClick=${() => give({ kind: asked })}>Yes, ${BUTTONS[asked].label.toLowerCase()}</button> <button onClick=${() => setAsked(null)}>No</button></span>`
    }</div>
    <p role="status" class="dim">${answer}</p>
  </section>`;
}
