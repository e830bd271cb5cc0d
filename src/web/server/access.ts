import { randomBytes, timingSafeEqual } from 'node:crypto';

/** Tokens of one server: `read` for everything it shows, `act` for changes; null if it is read-only. */
export interface Tokens {
  readonly read: string;
  readonly act: string | null;
}

export function newTokens(readOnly: boolean): Tokens {
  const token = (): string => randomBytes(24).toString('base64url');
  return { read: token(), act: readOnly ? null : token() };
}

/** Returns the address for a person: the tokens are in the fragment, which browsers do not send. */
export function addressOf(port: number, { read, act }: Tokens): string {
  return `http://127.0.0.1:${port}/#t=${read}${act === null ? '' : `&c=${act}`}`;
}

type Header = (name: string) => string | undefined;

/** Returns the status with which a request is refused before anything else is examined; null for a request of our own page. */
export function refusal(method: string, header: Header, port: number): number | null {
  const [host, origin, site] = ['host', 'origin', 'sec-fetch-site'].map(header);
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  // Another name for this address lets a foreign page circumvent the browser's rules (DNS rebinding).
  if (host === undefined || !hosts.includes(host)) return 421;
  if (origin !== undefined && origin !== `http://${host}`) return 403;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return 403;
  return method === 'POST' && site === 'none' ? 403 : null;
}

/** Compares in constant time. */
export function isToken(given: string | undefined, token: string | null): boolean {
  if (given === undefined || token === null) return false;
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}

export function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer ([\w-]+)$/.exec(header ?? '')?.[1];
}
