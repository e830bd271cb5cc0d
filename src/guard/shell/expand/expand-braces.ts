const MAX_ALTERNATIVES = 256;

/** Pieces of a word: quoted and escaped text, the marks of braces, and what is between them. */
const PIECES = /\$'(?:\\[\s\S]|[^\\'])*'?|'[^']*'?|"(?:\\[\s\S]|[^\\"])*"?|\\[\s\S]?|\$\{|[{},]|[^$'"\\{},]+|\$/g;

/** Expands `a{b,c}` and `{1..3}` like the shell, as text, before anything else. null: too many. */
export function expandBraces(text: string): string[] | null {
  const pieces = text.match(PIECES) ?? [];
  const marks = marksOf(pieces);
  let budget = MAX_ALTERNATIVES;
  const expand = (from: number, to: number): string[] | null => {
    for (let start = from; start < to; start += 1) {
      const [cuts, end] = pieces[start] === '{' ? (marks.get(start) ?? []) : [];
      if (cuts === undefined || end === undefined) continue;
      const sequence = end === start + 2 ? sequenceOf(pieces[start + 1] ?? '') : null;
      if (cuts.length === 1 && sequence === null) continue;
      const rests = expand(end + 1, to);
      if (rests === null) return null;
      const head = pieces.slice(from, start).join('');
      const results: string[] = [];
      for (const [at, choice] of (sequence ?? cuts).entries()) {
        const middles = typeof choice === 'string' ? [choice] : expand(choice + 1, cuts[at + 1] ?? end);
        if (middles === null) return null;
        for (const middle of middles) for (const rest of rests) results.push(head + middle + rest);
        budget -= 1;
        if (budget < 0 || results.length > MAX_ALTERNATIVES) return null;
      }
      return results;
    }
    return [pieces.slice(from, to).join('')];
  };
  return expand(0, pieces.length);
}

/** Returns for each brace that is closed its marks, itself and its own commas, and its end. */
function marksOf(pieces: readonly string[]): Map<number, readonly [cuts: readonly number[], end: number]> {
  const marks = new Map<number, readonly [number[], number]>();
  const open: number[][] = [];
  pieces.forEach((piece, at) => {
    if (piece === '{' || piece === '${') open.push([at]);
    else if (piece === ',') open.at(-1)?.push(at);
    else if (piece === '}') {
      const cuts = open.pop();
      if (cuts?.[0] !== undefined) marks.set(cuts[0], [cuts, at]);
    }
  });
  return marks;
}

function sequenceOf(text: string): string[] | null {
  const match = /^(?:(-?\d{1,6})\.\.(-?\d{1,6})|([a-zA-Z])\.\.([a-zA-Z]))(?:\.\.(-?\d{1,6}))?$/.exec(text);
  if (match === null) return null;
  const [, from = '', to = '', letter, lastLetter = '', by = '1'] = match;
  const first = letter === undefined ? Number(from) : letter.charCodeAt(0);
  const last = letter === undefined ? Number(to) : lastLetter.charCodeAt(0);
  const step = Math.max(1, Math.abs(Number(by)));
  const length = Math.min(Math.floor(Math.abs(last - first) / step), MAX_ALTERNATIVES + 1) + 1;
  const width = /^-?0\d/.test(from) ? from.length : 0;
  return Array.from({ length }, (_, at) => {
    const value = first + (first <= last ? at * step : -at * step);
    return letter === undefined ? String(value).padStart(width, '0') : String.fromCharCode(value);
  });
}
