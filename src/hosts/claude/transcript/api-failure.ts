import type { ApiError } from '../../../engine/events.ts';
import { redact } from '../../../text/redact/redact.ts';
import { apiErrorKind } from '../../agent/classify-run.ts';
import { fieldsOf, listOf, textOf, textOrNull } from '../../fields.ts';
import type { SessionError } from '../../host.ts';
import { scan } from './transcript.ts';

/** Reads an API failure from StopFailure's payload; only the transcript has the reset time of a usage limit. */
export function apiFailure(payload: Readonly<Record<string, unknown>>, transcriptPath: string | null): ApiError {
  const noted = lastApiError(transcriptPath);
  const kind = apiErrorKind(payload['error'] ?? noted?.kind);
  const message = textOf(payload['last_assistant_message']) || (noted?.message ?? 'no details');
  return {
    kind,
    message: redact(message).slice(0, 500),
    resetsAt: kind === 'rate-limited' ? (noted?.resetsAt ?? null) : null,
  };
}

/** Error with the client's own term as its kind. */
type NotedApiError = Omit<SessionError, 'kind'> & { readonly kind: string };

/** Returns the API error at the end of the transcript; null if its last assistant entry is not an error. */
export function lastApiError(transcriptPath: string | null): NotedApiError | null {
  let found: NotedApiError | null = null;
  scan(transcriptPath, '"assistant"', (entry) => {
    if (entry['type'] !== 'assistant') return false;
    if (entry['isApiErrorMessage'] === true) {
      found = {
        kind: textOf(entry['error']),
        message: listOf(fieldsOf(entry['message'])['content'])
          .map(({ text }) => textOf(text))
          .join(' '),
        resetsAt: resetTime(entry['quotaLimits']),
        at: textOrNull(entry['timestamp']),
      };
    }
    return true;
  });
  return found;
}

/** Last second that the four-digit year of a state file can represent. */
const LAST_SECOND = 253_402_300_799;

/** Returns the reset time of a usage limit (`resetsAt` in seconds) as ISO-8601 UTC; null if missing or out of range. */
export function resetTime(limits: unknown): string | null {
  const seconds = (limits as { resetsAt?: unknown } | undefined)?.resetsAt;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds <= 0 || seconds > LAST_SECOND) return null;
  return new Date(seconds * 1000).toISOString();
}
