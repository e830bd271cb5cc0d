const NOUN = 'findings?|issues?|problems?|bugs?|defects?|vulnerabilit(?:y|ies)|questions?';
const CLOSED = 'fixed|resolved|closed|answered|done';

const NONE = new RegExp(
  [
    String.raw`^[^\p{L}\p{N}]*(?:none\b|n/a\b|nothing\b`,
    String.raw`(?:there (?:are|is|were) )?(?:no|zero|0)\b[^.]{0,60}\b(?:${NOUN})\b`,
    String.raw`all\b[^.]{0,60}\b(?:${CLOSED})\b)`,
  ].join('|'),
  'iu',
);

/** Returns whether a line of a list of findings or questions says that none is open: `None.`, `No open findings`. */
export function saysNone(line: string): boolean {
  return NONE.test(line);
}
