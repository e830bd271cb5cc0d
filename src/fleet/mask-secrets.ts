import { secretNames } from '../sandbox/secret-names.ts';

const MASK = '***';
/** Minimum length of a secret; a shorter value would mask ordinary words. */
const SHORTEST = 8;

/** Returns a function that masks the values of an environment's secrets in a text, both plain and as JSON. */
export function secretMask(env: NodeJS.ProcessEnv): (text: string) => string {
  const values = secretNames(env, []).map((name) => env[name] ?? '');
  const forms = values
    .filter(({ length }) => length >= SHORTEST)
    .flatMap((value) => [value, JSON.stringify(value).slice(1, -1)])
    // The longest first: one secret may begin with another.
    .sort((one, other) => other.length - one.length);
  return (text) => forms.reduce((masked, form) => masked.replaceAll(form, MASK), text);
}

/** Masks them in the bytes of a file, whatever its format. */
export function maskBytes(bytes: Buffer, env: NodeJS.ProcessEnv): Buffer {
  const latin = Object.entries(env).map(
    ([name, value]) => [name, Buffer.from(value ?? '').toString('latin1')] as const,
  );
  return Buffer.from(secretMask(Object.fromEntries(latin))(bytes.toString('latin1')), 'latin1');
}
