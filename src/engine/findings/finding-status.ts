/** Status of a claim that its own line takes back, or that stands in a title: `FIXED? no`, `FIXED, reopened`. It is not closed. */
export const DOUBTED = 'FIXED?';

/** What each word and field of a status has. V8 compiles every expression that it tries, so most lines try only this. */
export const MAY_SAY_STATUS = /status|open|fixed/i;
const HAS_MARK = /[^\0-\x7f]|:[bhwx]/;

const STATUS_FIELD = /^[\s>*_`+-]*status[\s*_`]*[:=](.*)$/is;
const STATUS_WITHIN = /[|,;·(–—-][\s*_`]*status[\s*_`]*:(.*)$/is;
const STATUS_WORD =
  /(?:^|[\s[(|–—:-])[*_`]*(?:(OPEN|FIXED(?:_[A-Z_]+)?)|[[(](open|fixed)(?=[\])]))[*_`]*(?=$|[\s\]).,:;|?!/])/;
/** `FIXED` where a status stands: in brackets, or alone or with a remark at the beginning or behind a dash, bar or colon. */
const CLOSED =
  /[[(]\s*[*_`]*(FIXED[^\])]*)[\])]|(?:^|[|–—:✅✔☑✓]|\s-+\s)\uFE0F?[\s*_`]*(FIXED(?:_[A-Z_]+)?[*_`]*(?:\s*(?:$|[.,:;|?!(/–—]|-+\s|(?:in|by)\s).*))/i;
/** What makes a remark behind FIXED more than its reason: it denies, limits, postpones or takes back. What is doubtful holds. */
const DOUBT =
  /[?%]|\d of \d|n['’]t\b|\bno\b(?! [a-z])|\b(?:not|never|but|except|only|still|yet|again|(?:re-?)?open(?:ed)?|part(?:ial(?:ly)?|ly)?|mostly|revert(?:ed)?|regressed|regression(?! tests?\b)|false|fails?|failing|broken|soon|later|pending|planned|postponed|deferred|awaiting|tomorrow|in progress|incomplete|unfinished|untested|unverified|hopefully|todo|tbd|wip|almost|nearly|maybe|probably)\b/i;
const DONE_MARK = '✅|✔|☑|✓|:(?:white_check_mark|heavy_check_mark|ballot_box_with_check):';
const OPEN_MARK = '❌|✗|✘|✖|☐|⬜|:x:';

/** Returns whether no status but FIXED and FIXED_… closes a finding: a refused true claim costs a turn, an accepted false one the loop. */
export function isClosing(status: string | null): boolean {
  return status === 'FIXED' || status?.startsWith('FIXED_') === true;
}

/** Returns the status that a field `Status: …` gives, at the beginning of a line or within it; undefined without a field. */
export function statusField(line: string): string | null | undefined {
  const value = MAY_SAY_STATUS.test(line) ? (STATUS_FIELD.exec(line) ?? STATUS_WITHIN.exec(line))?.[1] : undefined;
  return value === undefined ? undefined : statusOf(value);
}

/**
 * Returns the status that a line itself says: `OPEN` or `FIXED` in capitals or brackets, or a mark at its beginning or end.
 * A title with the word FIXED is doubtful.
 */
export function statusWord(line: string): string | null | undefined {
  const plain = withoutStruck(line);
  const [, word, inBrackets] = (MAY_SAY_STATUS.test(plain) && STATUS_WORD.exec(plain)) || [];
  if (word === 'OPEN' || inBrackets === 'open' || isMarked(plain, OPEN_MARK)) return 'OPEN';
  if (word === undefined && inBrackets === undefined)
    return isMarked(plain, DONE_MARK) ? statusOfTick(plain) : undefined;
  const [, closed, closedBehind] = CLOSED.exec(plain) ?? [];
  return /\bOPEN\b/.test(plain) ? DOUBTED : statusOf(closed ?? closedBehind ?? DOUBTED);
}

/** Returns the first word of a status, in capitals; a mere tick is FIXED. Text that is struck through does not count. */
export function statusOf(value: string): string | null {
  const plain = withoutStruck(value).replace(/^[\s*_`]+/, '');
  const [box = '', mark = 'x'] = /^\[([^\]])\]/u.exec(plain) ?? [];
  if (!/x/i.test(mark)) return 'OPEN';
  const word = /[a-z]\w*/i.exec(plain.slice(box.length))?.[0].toUpperCase();
  if (word !== undefined) return withDoubt(word, plain.slice(box.length));
  return box !== '' || /[✅✔☑✓]/u.test(plain) ? 'FIXED' : null;
}

/** Returns the status of a ticked box or line, which the words behind it may take back. */
export function statusOfTick(content: string): string {
  return isMarked(content, OPEN_MARK) || UNTICKED.test(content) ? DOUBTED : 'FIXED';
}

/** Returns the text before and behind the status words that a line has. */
export function withoutStatus(text: string): string {
  if (!MAY_SAY_STATUS.test(text)) return text;
  const word = STATUS_WORD.exec(text);
  const field = STATUS_WITHIN.exec(text);
  const at = Math.min(word?.index ?? text.length, field?.index ?? text.length);
  const rest = at === word?.index ? text.slice(at + word[0].length).replace(/^[\])]/, '') : '';
  return `${text.slice(0, at)} ${rest}`;
}

/** Removes marks that stand for a status or a severity from the beginning of a text. */
export function withoutLeadingMarks(text: string): string {
  if (!HAS_MARK.test(text)) return text;
  return text.replace(new RegExp(`^(?:(?:${DONE_MARK}|${OPEN_MARK}|🔴|🟠|🟡|🟢|⚠)\uFE0F?\\s*)+`, 'u'), '');
}

function isMarked(text: string, marks: string): boolean {
  return HAS_MARK.test(text) && new RegExp(`^(?:${marks})|(?:${marks})\uFE0F?[\\s.)]*$`, 'u').test(text);
}

function withoutStruck(text: string): string {
  return text.includes('~~') ? text.replace(/~~[^~]*~~/g, '') : text;
}

/** What takes a tick back. */
const UNTICKED = /\b(?:not|never|partially) (?:yet )?fixed\b|\bre-?opened\b|\bstill open\W*$/i;

function withDoubt(status: string, text: string): string {
  if (!isClosing(status)) return status;
  const said = text.replaceAll('_', ' ');
  return DOUBT.test(said) || isMarked(said.trim(), OPEN_MARK) ? DOUBTED : status;
}
