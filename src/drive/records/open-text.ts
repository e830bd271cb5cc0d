import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { RunnerEvent } from '../../engine/runner-event.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { readRecord, removeIfThere, writeAtomically } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { redact } from '../../text/redact/redact.ts';

/** Time between two writings, in milliseconds: a view reads as often. */
const WRITE_MS = 300;

interface Written {
  readonly loopId: string;
  readonly text: string;
}

/**
 * Keeps the text that the agent is writing where a view in another process finds it, up to its last whole word and with
 * secrets masked. The event stream has only complete texts, so that it holds each once.
 */
export class OpenText {
  readonly #files: LoopFiles;
  readonly #loopId: string;
  #text = '';
  #writtenAt = 0;

  constructor(files: LoopFiles, loopId: string) {
    this.#files = files;
    this.#loopId = loopId;
  }

  /** Takes an event of the agent, after that has been recorded. Throws the system's error. */
  hear(event: RunnerEvent): void {
    if (event.type === 'agent.text-delta') this.#add(event.text);
    if ((event.type !== 'agent.text' && event.type !== 'agent.ended') || this.#text === '') return;
    this.#text = '';
    this.#writtenAt = 0;
    removeIfThere(this.#files.openText);
  }

  #add(more: string): void {
    this.#text += more;
    if (Date.now() - this.#writtenAt < WRITE_MS) return;
    this.#writtenAt = Date.now();
    const whole = /^[\s\S]*\s/.exec(this.#text)?.[0] ?? '';
    const written: Written = { loopId: this.#loopId, text: redact(whole) };
    mkdirSync(dirname(this.#files.openText), { recursive: true, mode: 0o700 });
    writeAtomically(this.#files.openText, JSON.stringify(written), 0o600, 'nothing');
  }
}

type News = (state: LoopState | null) => readonly RunnerEvent[];

/** Adds the agent's text as it is written to the events of a runner in another process; each piece comes once. */
export function withOpenText(files: LoopFiles, loopId: string, news: News): News {
  let shown = '';
  return (state) => {
    // Read before the stream, which then has everything that came before this text.
    const { text = '', loopId: of } = readRecord<Written>(files.openText) ?? {};
    let isOver = of !== loopId;
    const events = news(state).flatMap((event): RunnerEvent[] => {
      if (event.type !== 'agent.text' && event.type !== 'agent.ended') return [event];
      isOver = true;
      const rest = event.type === 'agent.text' ? restOf(event.text, shown) : '';
      shown = '';
      return event.type === 'agent.text'
        ? [
            { type: 'agent.text-delta', text: rest },
            { ...event, streamed: true },
          ]
        : [event];
    });
    if (isOver || !text.startsWith(shown) || text === shown) return events;
    const more: RunnerEvent = { type: 'agent.text-delta', text: text.slice(shown.length) };
    shown = text;
    return [...events, more];
  };
}

/** Returns what of a text is not shown yet: `shown` may begin with a message that was broken off. */
function restOf(text: string, shown: string): string {
  for (let at = 0; at < shown.length; at += 1) {
    if (text.startsWith(shown.slice(at))) return text.slice(shown.length - at);
  }
  return shown === '' ? text : `\n${text}`;
}
