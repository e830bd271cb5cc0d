import fc, { binaryText } from '../../support/property.ts';

/** What a text can hold that a reader may stumble over, and what readers look for. */
const PIECES = [
  ...['\0', '\n', '\r\n', '\r', '\u2028', '\u2029', '\ufeff', '\ud800', '\udc00', '\u{1F642}', '\u001b[2J', ' ', '\t'],
  ...[
    '"',
    '\\',
    '\\u0000',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    'null',
    '1e999',
    '-0',
    '__proto__',
    'constructor',
    'toString',
  ],
  ...['---', '---\n', '```', '~~~', '`', '> ', '<!--', '-->', '- run: x\n', 'validation:\n', '# '],
  ...['RALPH_AUDIT_COMPLETE_NO_FINDINGS', '<promise>DONE</promise>', '<!-- ralph:state idle -->', 'ralph:state'],
  ...['RALPH_ITERATION_COMPLETE: 3 findings remain', '<task-notification>', '<task-id>t1<', '<bash-input>', 'x', 'abc'],
];

/** A long text as one mark, so that a failing case stays readable; `render` writes it out. */
const long = fc.tuple(
  fc.constantFrom('x', ' ', '`', '-', '"', '[', '\\n', '\u{1F642}'),
  fc.constantFrom(5_000, 5_000, 5_000, 200_000),
);

export const anyText: fc.Arbitrary<string> = fc.oneof(
  { weight: 32, arbitrary: fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((parts) => parts.join('')) },
  { weight: 8, arbitrary: binaryText({ maxLength: 30 }) },
  { weight: 9, arbitrary: fc.constantFrom('I did some of it.', 'Still failing.', '') },
  { weight: 1, arbitrary: long.map(([unit, times]) => `@long ${times} ${unit}@`) },
);

/** Values of every type and size, in place of what a reader expects. Marks stand for what JSON.stringify cannot write. */
export const junk: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom<unknown>(
      ...[null, true, false, 0, -1, 0.5, 7, 2 ** 53, 1e308, -1e308, '@number 1e999@', '@number -0@'],
      ...['', 'x', '__proto__', 'constructor', '\0', '\ud800', '2026-13-45T99:99:99Z', '9999-12-31T23:59:59.999Z'],
      ...[[], {}, [null], ['a', 1], [[]], { '@proto@': { status: 'running' } }, { length: 1e9 }],
      ...[{ toString: 1, valueOf: 1 }, { toJSON: 1 }, { constructor: null }],
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom<unknown>('@deep 300@', '@deep 20000@', '@object 20000@') },
  { weight: 2, arbitrary: anyText },
);

/** JSON as generated: its marks written out. Never throws, whatever was generated. */
export function render(value: unknown): string {
  return written(JSON.stringify(value) ?? 'null');
}

/** The marks of a text written out. */
export function written(text: string): string {
  if (!text.includes('@')) return text;
  return text
    .replaceAll('@proto@', '__proto__')
    .replace(/"@number ([^@]*)@"/g, '$1')
    .replace(/"@deep (\d+)@"/g, (_, depth: string) => '['.repeat(Number(depth)) + ']'.repeat(Number(depth)))
    .replace(/"@object (\d+)@"/g, (_, depth) => `${'{"a":'.repeat(Number(depth))}1${'}'.repeat(Number(depth))}`)
    .replace(/@long (\d+) ([^@]*)@/g, (_, times: string, unit: string) => unit.repeat(Number(times)));
}

/** One change to a JSON value, and one to the text it is written as. */
export interface Mutation {
  readonly at: number;
  readonly how: 'drop' | 'replace' | 'add';
  readonly value: unknown;
}

export const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat({ max: 10_000 }),
  how: fc.constantFrom('drop', 'replace', 'replace', 'add'),
  value: junk,
});

/** A copy of a JSON value with some of its parts dropped, replaced or joined by others. */
export function mutated(value: object, mutations: readonly Mutation[]): object {
  const copy = JSON.parse(JSON.stringify(value)) as object;
  for (const { at, how, value: other } of mutations) {
    const places = placesIn(copy);
    const place = places[at % Math.max(1, places.length)];
    if (place === undefined) continue;
    if (how === 'drop') delete place.holder[place.key];
    else place.holder[how === 'add' ? `further ${at}` : place.key] = structuredClone(other);
  }
  return copy;
}

interface Place {
  readonly holder: Record<string, unknown>;
  readonly key: string;
}

function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesIn(holder[key])]);
}

/** What happens to a file beside its content: cut anywhere, something put in, another encoding's marks. */
export interface Damage {
  readonly how: 'none' | 'cut' | 'insert' | 'mark' | 'crlf' | 'twice' | 'half';
  readonly at: number;
  readonly piece: string;
}

export const damage: fc.Arbitrary<Damage> = fc.record({
  how: fc.oneof(
    { weight: 6, arbitrary: fc.constant('none' as const) },
    { weight: 4, arbitrary: fc.constantFrom(...(['cut', 'insert', 'mark', 'crlf', 'twice', 'half'] as const)) },
  ),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  piece: fc.constantFrom(...PIECES),
});

/** A file as generated: a value that is written as JSON, or a text as it stands. */
export interface Content {
  readonly value: unknown;
  readonly damage: Damage;
}

export const UNDAMAGED: Damage = { how: 'none', at: 0, piece: '' };

export function contentBytes({ value, damage: how }: Content): Buffer {
  return damaged(typeof value === 'string' ? written(value) : render(value), how);
}

/** The bytes of a damaged file. `half` ends it in the middle of a character. */
export function damaged(text: string, { how, at, piece }: Damage): Buffer {
  const place = Math.floor(text.length * at);
  switch (how) {
    case 'none':
      return Buffer.from(text);
    case 'cut':
      return Buffer.from(text).subarray(0, Math.floor(Buffer.byteLength(text) * at));
    case 'insert':
      return Buffer.from(text.slice(0, place) + piece + text.slice(place));
    case 'mark':
      return Buffer.from(`\ufeff${text}`);
    case 'crlf':
      return Buffer.from(text.replaceAll('\n', '\r\n'));
    case 'twice':
      return Buffer.from(text + text);
    case 'half':
      return Buffer.concat([Buffer.from(text), Buffer.from('\u{1F642}').subarray(0, 2)]);
    default:
      return how satisfies never;
  }
}
