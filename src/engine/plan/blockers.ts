import { type Line, lines } from '../../text/markdown/lines.ts';
import { oneLine } from '../../text/quote.ts';

/** Pattern for the label with a text beside it: `Blockers: x`, `**Blocker(s):** x`, `| Blockers | x |`. */
const LABEL =
  /^\|?\s*[*_]{0,3}blocker(?:s|\(s\))?(?: \(\d+\))?[*_]{0,3}\s*(?:[:：|]|[-–—](?=\s|$))[*_]{0,3}(?<text>.*)$/i;
/** Pattern for a label that stands alone: in bold, or the text of a heading. */
const BOLD = /^([*_]{2,3})blocker(?:s|\(s\))?\1$/i;
const HEADING = /^[*_]{0,3}blocker(?:s|\(s\))?[*_]{0,3}\s*[:：]?$/i;
/** Pattern for the label of another part of the report. */
const OTHER =
  /^\|?\s*[*_]{0,3}(?:summary|learnings?|next(?: actions?| steps?)?|changes|status|tests|files|commands|notes?)[*_]{0,3}\s*[:：|]/i;

const LATER =
  '(?:at (?:all|this time|the moment|present)|for (?:now|this task|me)|so far|as of now|right now|now|yet|known|found|seen|identified|encountered|met|remaining|remains?|left|here|today|currently|to report|open|outstanding|exists?)';
const ISSUES =
  '(?:(?:known|open|other|current|real|new|further|major|more|remaining|outstanding) )*(?:blockers?|blocking (?:issues?|problems?)|impediments?|obstacles?|issues?|problems?)';
/** Text after a mark explains ("none, all tests pass") unless it makes an exception: "none, except that the key is missing". */
const MORE = String.raw`(?:\s*[.,;:!(\u2013\u2014-](?!\W*(?:except|but|apart from|aside from|besides|other than|unless|however|only|though|although)\b).*)?`;
const NONE = [
  // Lets "None of them starts" and "nothing works" name a blocker.
  new RegExp(`^(?:none|nothing|nil|null|not applicable|n/?a|n\\.a\\.?|not blocked|unblocked)(?: ${LATER})*${MORE}$`),
  new RegExp(`^(?:no|none|0|zero)(?: ${ISSUES})?(?: ${LATER})*$`),
  new RegExp(
    `^(?:there (?:are|is|were|was) |i (?:have|had|see|saw|found|met|hit|encountered) )?(?:no|not any|none|zero) ?${ISSUES}(?: ${LATER})*${MORE}$`,
  ),
  /^(?:there (?:are|is|were|was) |i (?:have|had|see|saw|found|met|hit|encountered) )(?:none|nothing)$/,
  /^nothing (?:is |was )?(?:blocking|blocks|blocked|prevented|prevents)(?: (?:me|us|it|progress|this|this task|the task))?$/,
  /^(?:all |both |already |now )*(?:resolved|cleared|solved)\b/,
];

/** Returns what a report names as "Blockers", in one line; null if nothing. Code and quotes do not count. */
export function statedBlockers(message: string): string | null {
  // Every label contains this word; V8 takes long to compile the expressions of labels.
  if (!/blocker/i.test(message)) return null;
  const visible = [...lines(message)].filter(
    ({ text, inFence, inQuote, indentedCode }) => text.trim() !== '' && !inFence && !inQuote && !indentedCode,
  );
  const items = visible.flatMap((line, at) => {
    const below = visible.slice(at + 1);
    if (HEADING.test(line.heading?.title ?? '')) return itemsBelow(line, below, '', true);
    if (line.heading !== null) return [];
    if (BOLD.test(line.content)) return itemsBelow(line, below, '', true);
    const beside = LABEL.exec(line.content)?.groups?.['text'];
    return beside === undefined ? [] : itemsBelow(line, below, beside, false);
  });
  const named = items.map(unmarked).filter((item) => !isNone(item));
  return named.length === 0 ? null : oneLine(named.join(' / '));
}

/** Returns the items of a section: the text beside its label and the lines that continue it, or what stands below it. */
function itemsBelow(label: Line, below: readonly Line[], beside: string, isTitle: boolean): string[] {
  const items = beside.trim() === '' ? [] : [beside];
  const isText = items.length > 0;
  let last = label.number;
  for (const { content, heading, itemsBegun, number } of below) {
    const follows = number === last + 1;
    const isItem = itemsBegun > 0;
    if (heading !== null || OTHER.test(content)) break;
    // A paragraph after an empty line belongs to a heading only.
    if (!follows && (isText || !(isItem || (isTitle && items.length === 0)))) break;
    if (isItem || items.length === 0) items.push(content);
    else items.push(`${items.pop()} ${content}`);
    last = number;
  }
  return items;
}

/** Removes emphasis, quotes, table borders and symbols around a text. */
function unmarked(item: string): string {
  return item
    .replace(/[*_`]+/g, '')
    .replace(/^[\s"'“”([|]+|[\s"'“”)\]|]+$/g, '')
    .replace(/^[\u2700-\u27bf\u2600-\u26ff]\ufe0f?\s*/, '')
    .trim();
}

function isNone(item: string): boolean {
  const plain = item
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .replace(/[.!…\s\p{S}\p{M}]+$/u, '')
    .trim();
  return /^[-–—/.…]*$/.test(plain) || NONE.some((pattern) => pattern.test(plain));
}
