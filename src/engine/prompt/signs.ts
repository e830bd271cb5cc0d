import { LINE_END } from '../../text/characters.ts';
import { lines } from '../../text/markdown/lines.ts';
import { oneLine } from '../../text/quote.ts';
import type { Sign } from '../events.ts';

const SIGN = /^Sign:[ \t]*(\S.*)$/is;
const FIELD = /^[\s>*+_-]*(trigger|instruction|added after)[\s*_]*:[\s*_]*(.*)$/is;

/** Returns the signs of a guardrails file (`### Sign: Name` and its fields) outside code fences and HTML comments. */
export function parseSigns(text: string): Sign[] {
  const signs: Sign[] = [];
  let current: { -readonly [K in keyof Sign]: Sign[K] } | null = null;
  for (const { text: line, inFence, heading } of lines(text)) {
    if (inFence) continue;
    if (heading !== null && !heading.isUnderline) {
      const name = (SIGN.exec(heading.title)?.[1] ?? '').trim().replace(/ #+$/, '').trim();
      current = name === '' ? null : { name, trigger: '', instruction: '', addedAfter: '' };
      if (current !== null) signs.push(current);
      continue;
    }
    const field = current && FIELD.exec(line);
    if (!field || !current) continue;
    const [, key = '', value = ''] = field;
    current[keyOf(key)] = value.trim();
  }
  return signs;
}

function keyOf(field: string): 'trigger' | 'instruction' | 'addedAfter' {
  const lower = field.toLowerCase();
  return lower === 'trigger' || lower === 'instruction' ? lower : 'addedAfter';
}

/** Returns the text to append to a guardrails file to add this sign; '' if it already has a sign of that name. */
export function signBehind(text: string, sign: Sign): string {
  const name = oneLine(sign.name);
  const ending = text.includes('\r\n') ? '\r\n' : '\n';
  const block = [
    `### Sign: ${name}`,
    '',
    `- **Trigger**: ${oneLine(sign.trigger)}`,
    `- **Instruction**: ${oneLine(sign.instruction)}`,
    `- **Added after**: ${oneLine(sign.addedAfter)}`,
    '',
  ].join(ending);
  const signs = parseSigns(text);
  if (signs.some((known) => sameName(known.name, name))) return '';
  const added = `${gapBehind(text, ending)}${block}`;
  // After an unclosed fence or comment a sign does not count; it would be added again each time.
  const counts = parseSigns(text + added).length > signs.length;
  return !counts && text.split(LINE_END).some((line) => sameName(line, `### Sign: ${name}`)) ? '' : added;
}

/** Returns the line ends that leave one empty line after the text. */
function gapBehind(text: string, ending: string): string {
  const all = text.split(LINE_END);
  if (all.at(-1) !== '') return text.trim() === '' ? ending : ending + ending;
  return (all.at(-2) ?? '').trim() === '' ? '' : ending;
}

function sameName(a: string, b: string): boolean {
  return oneLine(a).toLowerCase() === oneLine(b).toLowerCase();
}
