const MARK = /-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/** Shorter ones are words between two marks that a text only speaks of. */
const KEY_TEXT = /[A-Za-z0-9+/=]{16}/;
/** What follows an opening mark whose block was cut off: lines of the key, or line ends that JSON has escaped. */
const CUT_OFF = /(?:[ \t]*(?:\\r)?(?:\\n|\r?\n)[ \t]*[A-Za-z0-9+/=]{16,})+/y;

/** Masks what lies between the marks of a private key, and what follows a mark whose end was cut off. */
export function redactKeyBlocks(text: string, mask: string): string {
  const marks = [...text.matchAll(MARK)];
  let out = '';
  let done = 0;
  for (const [index, mark] of marks.entries()) {
    if (mark[1] !== 'BEGIN') continue;
    const from = mark.index + mark[0].length;
    const next = marks[index + 1];
    const to = next?.[1] === 'END' ? next.index : endOfCutOff(text, from);
    if (!KEY_TEXT.test(text.slice(from, to))) continue;
    out += `${text.slice(done, from)}\n${mask}\n`;
    done = to;
  }
  return out + text.slice(done);
}

function endOfCutOff(text: string, from: number): number {
  CUT_OFF.lastIndex = from;
  return CUT_OFF.test(text) ? CUT_OFF.lastIndex : from;
}
