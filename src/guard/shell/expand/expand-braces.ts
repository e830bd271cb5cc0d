const MAX_ALTERNATIVES = 256;

/** Expands `a{b,c}` and `{1..3}` like the shell, as text, before anything else. null: too many. */
export function expandBraces(text: string): string[] | null {
  let budget = MAX_ALTERNATIVES;
  const expand = (part: string): string[] | null => {
    const brace = firstBrace(part);
    if (brace === null) return [part];
    const rests = expand(part.slice(brace.end));
    if (rests === null) return null;
    const head = part.slice(0, brace.start);
    const results: string[] = [];
    for (const choice of brace.choices) {
      const middles = expand(choice);
      if (middles === null) return null;
      for (const middle of middles) for (const rest of rests) results.push(head + middle + rest);
      budget -= 1;
      if (budget < 0 || results.length > MAX_ALTERNATIVES) return null;
    }
    return results;
  };
  return expand(text);
}

interface Brace {
  readonly start: number;
  readonly end: number;
  readonly choices: readonly string[];
}

function firstBrace(text: string): Brace | null {
  for (let start = skipQuoted(text, 0); start < text.length; start = skipQuoted(text, start + 1)) {
    if (text[start] !== '{' || text[start - 1] === '$') continue;
    const brace = braceAt(text, start);
    if (brace !== null) return brace;
  }
  return null;
}

function braceAt(text: string, start: number): Brace | null {
  const choices: string[] = [];
  let depth = 0;
  let from = start + 1;
  for (let at = skipQuoted(text, start + 1); at < text.length; at = skipQuoted(text, at + 1)) {
    const character = text[at];
    if (character === '{') depth += 1;
    else if (character === ',' && depth === 0) {
      choices.push(text.slice(from, at));
      from = at + 1;
    } else if (character === '}') {
      if (depth > 0) {
        depth -= 1;
        continue;
      }
      const last = text.slice(from, at);
      if (choices.length > 0) return { start, end: at + 1, choices: [...choices, last] };
      const sequence = sequenceOf(last);
      return sequence === null ? null : { start, end: at + 1, choices: sequence };
    }
  }
  return null;
}

/** Returns the next index from `at` on that is neither quoted nor escaped. */
function skipQuoted(text: string, at: number): number {
  for (;;) {
    const character = text[at];
    if (character === '\\') at += 2;
    else if (character === "'" || character === '"') {
      const close = closingQuote(text, at, character);
      if (close === -1) return text.length;
      at = close + 1;
    } else return at;
  }
}

function closingQuote(text: string, open: number, quote: string): number {
  const escapes = quote === '"' || text[open - 1] === '$';
  for (let at = open + 1; at < text.length; at += 1) {
    if (escapes && text[at] === '\\') at += 1;
    else if (text[at] === quote) return at;
  }
  return -1;
}

function sequenceOf(text: string): string[] | null {
  const match = /^(-?\d{1,6}|[a-zA-Z])\.\.(-?\d{1,6}|[a-zA-Z])(?:\.\.(-?\d{1,6}))?$/.exec(text);
  if (match === null) return null;
  const [, from = '', to = '', by = '1'] = match;
  const letters = /[a-zA-Z]/.test(from);
  if (letters !== /[a-zA-Z]/.test(to)) return null;
  const first = letters ? from.charCodeAt(0) : Number(from);
  const last = letters ? to.charCodeAt(0) : Number(to);
  const step = Math.max(1, Math.abs(Number(by)));
  const width = !letters && /^-?0\d/.test(from) ? from.length : 0;
  const results: string[] = [];
  for (let at = first; first <= last ? at <= last : at >= last; at += first <= last ? step : -step) {
    results.push(letters ? String.fromCharCode(at) : String(at).padStart(width, '0'));
    if (results.length > MAX_ALTERNATIVES + 1) break;
  }
  return results;
}
