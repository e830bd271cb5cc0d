const SEGMENTS = new Set([
  ...['.aws', '.azure', '.gcloud', '.ssh', 'secrets', 'credentials', 'ops-secrets', 'credentials-prod'],
]);
const NAMES = new Set(['.npmrc', '.pypirc', '.netrc']);
const SUFFIX = /\.(?:pem|key|asc)$/;

/** Whether policy:secret-bearing-paths covers a path. Letter case does not count, on any file system. */
export function isSecretBearing(path: string): boolean {
  const segments = path.toLowerCase().split('/');
  const name = segments.at(-1) ?? '';
  if (NAMES.has(name) || SUFFIX.test(name)) return true;
  return segments.some((segment) => SEGMENTS.has(segment) || segment.startsWith('.env'));
}
