import { randomBytes } from 'node:crypto';

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
export const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Returns an id that sorts by time: 48 bits of epoch milliseconds and 80 random ones, in Crockford's base 32. */
export function ulid(at: number): string {
  let time = '';
  for (let rest = at, digit = 0; digit < 10; digit++, rest = Math.floor(rest / 32)) time = DIGITS[rest % 32] + time;
  const random = [...randomBytes(16)].map((byte) => DIGITS[byte % 32]).join('');
  return time + random;
}

/** Returns an id for this time, or for the time after that of `last` if it would not sort after it. */
export function ulidAfter(last: string | null, at: number): string {
  const id = ulid(at);
  return last === null || id > last ? id : ulid(timeOf(last) + 1);
}

function timeOf(id: string): number {
  return [...id.slice(0, 10)].reduce((time, digit) => time * 32 + DIGITS.indexOf(digit), 0);
}
