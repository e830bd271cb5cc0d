import type { LoopState } from '../../engine/schema/state.ts';
import { type Entry, readStream } from '../../state/event-stream.ts';
import { readRecord, writeRecord } from '../../state/files/regular-file.ts';
import { type LoopFiles, log, readLoop } from '../../state/loop-files.ts';

/** Progress of the export of a loop's events. */
interface Cursor {
  readonly loopId: string;
  /** Byte of the stream at which the next export begins. */
  readonly next: number;
  /** End of the last export, ISO-8601 UTC. */
  readonly since: string;
  /** Wait whose end was unknown at that time; null if there was none. */
  readonly pending: Entry | null;
}

/**
 * Exports the loop's events since the last call if the user has set an OpenTelemetry endpoint; otherwise loads nothing. Takes
 * at most two seconds. A failure does not affect the loop: it is logged, and returned as a sentence for the user.
 */
export async function exportTelemetry(
  files: LoopFiles,
  state: LoopState,
  env: NodeJS.ProcessEnv,
): Promise<string | null> {
  if (!hasEndpoint(env)) return null;
  const at = new Date().toISOString();
  try {
    const [{ exporterOf }, { send }] = await Promise.all([
      import('../../telemetry/settings.ts'),
      import('../../telemetry/send.ts'),
    ]);
    const exporter = exporterOf(env);
    if (exporter === null) return null;
    const { loopId, name, mode, startedAt, sessionId } = state;
    const cursor = readCursor(files, loopId) ?? { loopId, next: 0, since: startedAt, pending: null };
    const events: Entry[] = cursor.pending === null ? [] : [cursor.pending];
    const next = readStream(files, loopId, cursor.next, (entry) => events.push(entry));
    const traceparent = env['TRACEPARENT'];
    const loop = { loopId, name, mode, startedAt, sessionId };
    const { problem, pending } = await send(exporter, { events, loop, traceparent, since: cursor.since, at });
    writeRecord(files.telemetry, { loopId, next, since: at, pending });
    if (problem === null) return null;
    log(files, at, 'telemetry', problem);
    return `OpenTelemetry did not get everything: ${problem}.`;
  } catch (error) {
    log(files, at, 'telemetry', (error as Error).message);
    return null;
  }
}

/** Interval between exports of a loop whose turns end in other processes. */
const EXPORT_MS = 5_000;

/** Exports at intervals what hooks record. Returns a function that stops this and waits for an export in progress. */
export function exportMeanwhile(files: LoopFiles, loopId: string, env: NodeJS.ProcessEnv): () => Promise<void> {
  if (!hasEndpoint(env)) return () => Promise.resolve();
  let current: Promise<unknown> | null = null;
  const timer = setInterval(() => {
    const state = current === null ? readLoop(files, loopId) : null;
    // Start and result of a check belong in the same export.
    if (state === null || state.status === 'verifying') return;
    current = exportTelemetry(files, state, env).finally(() => {
      current = null;
    });
  }, EXPORT_MS);
  return async () => {
    clearInterval(timer);
    await current;
  };
}

function hasEndpoint(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env['OTEL_EXPORTER_OTLP_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']);
}

/** Returns variables that put a client's spans below those of an iteration (also an idle one) or loop (null); none without export. */
export async function traceEnvironment(
  loopId: string,
  turn: number | null,
  env: NodeJS.ProcessEnv,
): Promise<Readonly<Record<string, string>>> {
  if (!hasEndpoint(env)) return {};
  const { traceparentFor } = await import('../../telemetry/settings.ts');
  return { TRACEPARENT: traceparentFor(loopId, turn, env['TRACEPARENT']) };
}

/** Returns the cursor; null if no event of the loop was exported yet. */
function readCursor(files: LoopFiles, loopId: string): Cursor | null {
  const found = readRecord<Cursor>(files.telemetry);
  return found?.loopId === loopId && Number.isInteger(found.next) ? (found as Cursor) : null;
}
