const BLOCKS =
  'address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul';
const BLANKS = '[ \\t]';
const ATTRIBUTE = `${BLANKS}+[a-z_:][\\w.:-]*(?:${BLANKS}*=${BLANKS}*(?:[^\\s"'=<>\`]+|'[^']*'|"[^"]*"))?`;

/** Pattern for the beginning of an HTML block, and for its end; without one, it ends before a blank line. */
const KINDS: readonly { readonly start: RegExp; readonly end: RegExp | null }[] = [
  { start: /^<(?:script|pre|style|textarea)(?:[\s>]|$)/i, end: /<\/(?:script|pre|style|textarea)>/i },
  { start: /^<!--/, end: /-->/ },
  { start: /^<\?/, end: /\?>/ },
  { start: /^<!\[CDATA\[/, end: /\]\]>/ },
  { start: /^<![a-z]/i, end: />/ },
  { start: new RegExp(`^</?(?:${BLOCKS})(?:\\s|/?>|$)`, 'i'), end: null },
];
/** Pattern for any other tag that is alone on its line, which begins a block but ends no paragraph. */
const LONE_TAG = new RegExp(`^<(?:[a-z][a-z\\d-]*(?:${ATTRIBUTE})*${BLANKS}*/?|/[a-z][a-z\\d-]*${BLANKS}*)>$`, 'i');

/** HTML block of CommonMark, which ends with the line that has `end`, or before a blank line. */
export interface HtmlBlock {
  readonly end: RegExp | null;
}

/** Returns the HTML block that a line without indentation begins; null if it begins none. */
export function htmlBlock(text: string, inParagraph: boolean): HtmlBlock | null {
  if (!text.startsWith('<')) return null;
  return KINDS.find(({ start }) => start.test(text)) ?? (!inParagraph && LONE_TAG.test(text) ? { end: null } : null);
}
