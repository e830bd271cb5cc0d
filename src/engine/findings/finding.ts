/** Entry of the agent's log of findings. */
export interface Finding {
  readonly id: string;
  readonly title: string;
  /** First word of its last status, in capitals; null if it has none. */
  readonly status: string | null;
  /** Line where it begins, from 1. */
  readonly line: number;
}

/** Returns whether no status but FIXED and FIXED_… closes a finding: a refused true claim costs a turn, an accepted false one the loop. */
export function isOpen({ status }: Pick<Finding, 'status'>): boolean {
  return !/^FIXED(?:_|$)/.test(status ?? '');
}

const NAMED =
  /^[*_`~\s[(]{0,5}((?:(?:finding|find|issue|bug|defect|problem|vuln|vulnerability|risk)[-_ #]{0,2}|f[-_#]?|#)\d{1,9}(?:\.\d{1,9})*(?!\.?\w))[*_`~\s\])]{0,5}(.*)$/is;

/** Parses `FINDING-001: [Category] Title`, `F1 – Title` or `#3 Title`; null for a text without such an id. */
export function namedFinding(text: string): Pick<Finding, 'id' | 'title'> | null {
  const [, id, rest = ''] = NAMED.exec(withoutBox(text)) ?? [];
  if (id === undefined) return null;
  return { id: id.toUpperCase().replace(/\s/g, '-'), title: titleOf(rest) };
}

/** Returns the words of a title, without marks, category and status. */
export function titleOf(text: string): string {
  const lead = /^[\s:.–—-]+/;
  const words = withoutMarks(withoutStatus(text)).replace(lead, '');
  return withoutMarks(words.replace(/^\[[^\]]*\]/, '').replace(lead, ''));
}

const STATUS_FIELD = /^[\s>*_`+-]*status[\s*_`]*:(.*)$/is;
const STATUS_WITHIN = /[|,;·(–—-][\s*_`]*status[\s*_`]*:(.*)$/is;
const STATUS_WORD =
  /(?:^|[\s[(|–—:-])[*_`]*(?:(OPEN|FIXED(?:_[A-Z_]+)?)|[[(](open|fixed)(?=[\])]))[*_`]*(?=$|[\s\]).,:;|])/;

/** Returns the status that a field `Status: …` gives, at the beginning of a line or within it; undefined without a field. */
export function statusField(line: string): string | null | undefined {
  const value = (STATUS_FIELD.exec(line) ?? STATUS_WITHIN.exec(line))?.[1];
  return value === undefined ? undefined : statusOf(value);
}

/** Returns the status that a line itself says: `OPEN` or `FIXED` in capitals or brackets. */
export function statusWord(line: string): string | undefined {
  const [, word, inBrackets] = STATUS_WORD.exec(line.replace(/~~[^~]*~~/g, '')) ?? [];
  return word ?? inBrackets?.toUpperCase();
}

/** Returns the first word of a status, in capitals; a mere tick is FIXED. Text that is struck through does not count. */
export function statusOf(value: string): string | null {
  const plain = value.replace(/~~[^~]*~~/g, '');
  return /[a-z]\w*/i.exec(plain)?.[0].toUpperCase() ?? (/[✅✔☑]/u.test(plain) ? 'FIXED' : null);
}

function withoutStatus(text: string): string {
  const word = STATUS_WORD.exec(text);
  const field = STATUS_WITHIN.exec(text);
  const at = Math.min(word?.index ?? text.length, field?.index ?? text.length);
  const rest = at === word?.index ? text.slice(at + word[0].length).replace(/^[\])]/, '') : '';
  return `${text.slice(0, at)} ${rest}`;
}

function withoutBox(text: string): string {
  return text.replace(/^\[[^\]]\][ \t]+/u, '');
}

/** Removes Markdown marks around a text. A loop, because `[…]+$` is quadratic on a long run of blanks. */
export function withoutMarks(text: string): string {
  const mark = (at: number): boolean => ' \t*_`#~'.includes(text.charAt(at));
  let [start, end] = [0, text.length];
  while (start < end && mark(start)) start += 1;
  while (end > start && mark(end - 1)) end -= 1;
  return text.slice(start, end);
}
