/** Status of a claim that its own line takes back: `FIXED? no`, `FIXED, reopened`, `not FIXED`. It is not closed. */
const DOUBTED = 'FIXED?';

/** What each word and field of a status has. V8 compiles every expression that it tries, so most lines try only this. */
export const MAY_SAY_STATUS = /status|open|fixed/i;
/** What each mark has. */
const HAS_MARK = /[^\0-\x7f]|:[bhwx]/;

const STATUS_FIELD = /^[\s>*_`+-]*status[\s*_`]*[:=](.*)$/is;
const STATUS_WITHIN = /[|,;·(–—-][\s*_`]*status[\s*_`]*:(.*)$/is;
const STATUS_WORD =
  /(?:^|[\s[(|–—:-])[*_`]*(?:(OPEN|FIXED(?:_[A-Z_]+)?)|[[(](open|fixed)(?=[\])]))[*_`]*(?=$|[\s\]).,:;|?!/])/;
const DONE_MARK = '✅|✔|☑|✓|:(?:white_check_mark|heavy_check_mark|ballot_box_with_check):';
const OPEN_MARK = '❌|✗|✘|✖|☐|⬜|:x:';

/** Returns whether no status but FIXED and FIXED_… closes a finding: a refused true claim costs a turn, an accepted false one the loop. */
export function isClosing(status: string | null): boolean {
  if (status === 'FIXED') return true;
  return status?.startsWith('FIXED_') === true && !/PART|REVERT|OPEN|NOT(?!E)|REGRESS/.test(status);
}

/** Returns the status that a field `Status: …` gives, at the beginning of a line or within it; undefined without a field. */
export function statusField(line: string): string | null | undefined {
  const value = MAY_SAY_STATUS.test(line) ? (STATUS_FIELD.exec(line) ?? STATUS_WITHIN.exec(line))?.[1] : undefined;
  return value === undefined ? undefined : statusOf(value);
}

/** Returns the status that a line itself says: `OPEN` or `FIXED` in capitals or brackets, or a mark at its beginning or end. */
export function statusWord(line: string): string | undefined {
  const plain = withoutStruck(line);
  const [, word, inBrackets] = (MAY_SAY_STATUS.test(plain) && STATUS_WORD.exec(plain)) || [];
  const said = word ?? inBrackets?.toUpperCase();
  if (said !== undefined) return withDoubt(said, plain);
  if (isMarked(plain, OPEN_MARK)) return 'OPEN';
  return isMarked(plain, DONE_MARK) ? withDoubt('FIXED', plain) : undefined;
}

/** Returns the first word of a status, in capitals; a mere tick is FIXED. Text that is struck through does not count. */
export function statusOf(value: string): string | null {
  const plain = withoutStruck(value).replace(/^[\s*_`]+/, '');
  const [box = '', mark = 'x'] = /^\[([^\]])\]/u.exec(plain) ?? [];
  if (!/x/i.test(mark)) return 'OPEN';
  const word = /[a-z]\w*/i.exec(plain.slice(box.length))?.[0].toUpperCase();
  if (word !== undefined) return withDoubt(word, plain);
  return box !== '' || /[✅✔☑✓]/u.test(plain) ? 'FIXED' : null;
}

/** Returns the status of a ticked box, which the words behind it may take back. */
export function statusOfTick(content: string): string {
  return isMarked(content, OPEN_MARK) ? 'OPEN' : withDoubt('FIXED', content);
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

/** Returns whether a text begins or ends with one of these marks. */
function isMarked(text: string, marks: string): boolean {
  return HAS_MARK.test(text) && new RegExp(`^(?:${marks})|(?:${marks})\uFE0F?[\\s.)]*$`, 'u').test(text);
}

function withoutStruck(text: string): string {
  return text.includes('~~') ? text.replace(/~~[^~]*~~/g, '') : text;
}

/** What is said of the past, or denied, takes nothing back. */
const OF_THE_PAST =
  /\((?:was|formerly|previously)\b[^)]{0,100}\)|\b(?:was|formerly|previously):? open\b|\b(?:not|never|no|without)(?: any| a| longer)? (?:re-?opened|regress\w*|partially)/gi;
/** Words before FIXED that deny it. */
const DENIED_BEFORE =
  /(?:\b(?:not|never|partially|partly|almost|to be|(?:will|should|must) be)|n['’]t)(?: [a-z]+)?[\s*_`-]*$/i;
/** What follows FIXED and takes it back at once. */
const TAKEN_BACK =
  /^[*_`\s]*\?(?![*_`\s]*yes\b)|^[*_`\s)\]]*(?:[-,;:|/=→>–—(]\s?)*(?:no(?=[*_`\s.!]*(?:$|[,;]))|false(?![-\w]| (?:positive|alarm|negative))|open(?=\W*$|[^-\w]*(?:$|(?:in|on|for|again|until|since)\b)|[*_`\s]*[.,;:)!(])|partially|partly|in part(?! ?\w))/i;
const TAKEN_BACK_LATER =
  /\bre-?opened(?=[*_`\s]*(?:$|[.,;)!]|(?:in|by|because|after|at|on|again|iteration|see)\b))|\bregress(?:ed|ion(?![-\s]*(?:tests?|specs?|checks?|suites?|coverage|cases?)\b))\b|\breverted\b(?! (?:to\b|the (?!fix)))|\bstill (?:open|fail\w*|broken|there|present)\b|\b(?:open(?:ed)?|broken|fails) again\b|\bnot (?:yet|fixed|fully|completely|entirely)\b/i;

/** What follows the title of a ticked item and takes the tick back. */
const UNTICKED =
  /[(–—:,;-]\s*(?:(?:but )?(?:not|never) (?:yet )?fixed|partially fixed|(?:re-?|still )opened?(?=\W*$|\W+(?:in|by|again)\b))/i;

function withDoubt(status: string, text: string): string {
  if (!isClosing(status)) return status;
  if (!MAY_SAY_STATUS.test(text)) return isMarked(text.trim(), OPEN_MARK) ? DOUBTED : status;
  const plain = text.replace(OF_THE_PAST, ' ').trim();
  const [, before, after] = /^(.*?)\bfixed\w*(.*)$/is.exec(plain) ?? [];
  const isDenied =
    before === undefined || after === undefined
      ? UNTICKED.test(plain)
      : DENIED_BEFORE.test(before) || TAKEN_BACK.test(after) || TAKEN_BACK_LATER.test(after) || /\bOPEN\b/.test(after);
  return isDenied || isMarked(plain, OPEN_MARK) ? DOUBTED : status;
}
