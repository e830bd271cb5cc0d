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
 * secrets masked. The event stream has only complete texts, so that it holds each once. The returned function takes an event
 * of the agent after that has been recorded, and throws the system's error.
 */
export function openText(files: LoopFiles, loopId: string): (event: RunnerEvent) => void {
  let text = '';
  let writtenAt = 0;
  const add = (more: string): void => {
    text += more;
    if (Date.now() - writtenAt < WRITE_MS) return;
    writtenAt = Date.now();
    const whole = /^[\s\S]*\s/.exec(text)?.[0] ?? '';
    const written: Written = { loopId, text: redact(whole) };
    mkdirSync(dirname(files.openText), { recursive: true, mode: 0o700 });
    writeAtomically(files.openText, JSON.stringify(written), 0o600, 'nothing');
  };
  return (event) => {
    if (event.type === 'agent.text-delta') add(event.text);
    if ((event.type !== 'agent.text' && event.type !== 'agent.ended') || text === '') return;
    text = '';
    writtenAt = 0;
    removeIfThere(files.openText);
  };
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
