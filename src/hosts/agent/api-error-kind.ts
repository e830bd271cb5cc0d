import type { ApiError } from '../../engine/events.ts';

/** Returns the kind of an API error by its term in Claude Code, which other hosts' errors are mapped to. */
export function apiErrorKind(error: unknown): ApiError['kind'] {
  return (typeof error === 'string' ? KINDS.get(error) : undefined) ?? 'other';
}

const KINDS: ReadonlyMap<string, ApiError['kind']> = new Map([
  ['rate_limit', 'rate-limited'],
  ['authentication_failed', 'authentication'],
  ['oauth_org_not_allowed', 'authentication'],
  ['verification_required', 'authentication'],
  ['cloud_credential_error', 'authentication'],
  ['billing_error', 'billing'],
  ['account_on_hold', 'billing'],
  ['invalid_request', 'invalid-request'],
  ['model_not_found', 'invalid-request'],
  ['overloaded', 'overloaded'],
  ['server_error', 'overloaded'],
]);
