/** Status of a finding that its own line revokes, or whose title has the word: `FIXED? no`, `FIXED, reopened`. Not closed. */
export const DOUBTED = 'FIXED?';

/** Cheap test that every status passes. V8 compiles each expression that it tries, so most lines try only this. */
export const MAY_SAY_STATUS = /status|open|fixed/i;
const HAS_MARK = /[^\0-\x7f]|:[bhwx]/;

const STATUS_FIELD = /^[\s>*_`+-]*status[\s*_`]*[:=](.*)$/is;
const STATUS_WITHIN = /[|,;·(–—-][\s*_`]*status[\s*_`]*:(.*)$/is;
const STATUS_WORD =
  /(?:^|[\s[(|–—:-])[*_`]*(?:(OPEN|FIXED(?:_[A-Z_]+)?)|[[(](open|fixed)(?=[\])]))[*_`]*(?=$|[\s\]).,:;|?!/])/;
/** `FIXED` where a status belongs: in brackets, alone, or with a remark at the beginning or after a dash, bar or colon. */
const CLOSED =
  /[[(]\s*[*_`]*(FIXED[^\])]*)[\])]|(?:^|[|–—:✅✔☑✓]|\s-+\s)\uFE0F?[\s*_`]*(FIXED(?:_[A-Z_]+)?[*_`]*(?:\s*(?:$|[.,:;|?!(/–—]|-+\s|(?:in|by)\s).*))/i;
/** Pattern for a remark after FIXED that denies, limits, postpones or revokes it. A doubtful remark leaves the finding open. */
const DOUBT =
  /[?%]|\d of \d|n['’]t\b|\bno\b(?! [a-z])|\b(?:not|never|but|except|only|still|yet|again|(?:re-?)?open(?:ed)?|part(?:ial(?:ly)?|ly)?|mostly|revert(?:ed)?|regressed|regression(?! tests?\b)|false|fails?|failing|broken|soon|later|pending|planned|postponed|deferred|awaiting|tomorrow|in progress|incomplete|unfinished|untested|unverified|hopefully|todo|tbd|wip|almost|nearly|maybe|probably)\b/i;
const DONE_MARK = '✅|✔|☑|✓|:(?:white_check_mark|heavy_check_mark|ballot_box_with_check):';
const OPEN_MARK = '❌|✗|✘|✖|☐|⬜|:x:';

/** Returns whether a status closes a finding. Refusing a true claim costs a turn, accepting a false one the loop. */
export function isClosing(status: string | null): boolean {
  return status === 'FIXED' || status?.startsWith('FIXED_') === true;
}

/** Returns the status in a field `Status: …`, at the beginning of a line or within it; undefined without a field. */
export function statusField(line: string): string | null | undefined {
  const value = MAY_SAY_STATUS.test(line) ? (STATUS_FIELD.exec(line) ?? STATUS_WITHIN.exec(line))?.[1] : undefined;
  return value === undefined ? undefined : statusOf(value);
}

/**
 * Returns the status that a line states without a field: `OPEN` or `FIXED` in capitals or brackets, or a mark at its
 * beginning or end. A title with the word FIXED is doubtful.
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

/** Returns the first word of a status, in capitals, or null; a lone tick is FIXED. Struck text does not count. */
export function statusOf(value: string): string | null {
  const plain = withoutStruck(value).replace(/^[\s*_`]+/, '');
  const [box = '', mark = 'x'] = /^\[([^\]])\]/u.exec(plain) ?? [];
  if (!/x/i.test(mark)) return 'OPEN';
  const word = /[a-z]\w*/i.exec(plain.slice(box.length))?.[0].toUpperCase();
  if (word !== undefined) return withDoubt(word, plain.slice(box.length));
  return box !== '' || /[✅✔☑✓]/u.test(plain) ? 'FIXED' : null;
}

/** Returns the status of a ticked box or line; the words after the tick may revoke it. */
export function statusOfTick(content: string): string {
  return isMarked(content, OPEN_MARK) || UNTICKED.test(content) ? DOUBTED : 'FIXED';
}

/** Returns the text before and after a line's status words. */
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

/** Pattern for words that revoke a tick. */
const UNTICKED = /\b(?:not|never|partially) (?:yet )?fixed\b|\bre-?opened\b|\bstill open\W*$/i;

function withDoubt(status: string, text: string): string {
  if (!isClosing(status)) return status;
  const said = text.replaceAll('_', ' ');
  return DOUBT.test(said) || isMarked(said.trim(), OPEN_MARK) ? DOUBTED : status;
}
