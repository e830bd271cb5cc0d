import type { Sign } from './effects.ts';
import { plainLines } from './plain-lines.ts';

const HEADING = /^ {0,3}#{1,6}[ \t]+(.*)$/s;
const SIGN = /^Sign:[ \t]*(\S.*)$/is;
const FIELD = /^[\s>*+_-]*(trigger|instruction|added after)[\s*_]*:[\s*_]*(.*)$/is;

/**
 * The signs of a guardrails file: `### Sign: Name` with Trigger, Instruction and Added after. What stands in code fences
 * and HTML comments does not count.
 */
export function parseSigns(text: string): Sign[] {
  const signs: Sign[] = [];
  let current: { -readonly [K in keyof Sign]: Sign[K] } | null = null;
  for (const { text: line } of plainLines(text)) {
    const heading = HEADING.exec(line)?.[1];
    if (heading !== undefined) {
      const name = (SIGN.exec(heading)?.[1] ?? '').trim().replace(/ #+$/, '').trim();
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

/** The file with this sign at its end; the file as it is when a sign of that name is in it already. */
export function appendSign(text: string, sign: Sign): string {
  const name = oneLine(sign.name);
  if (parseSigns(text).some((known) => sameName(known.name, name))) return text;
  const ending = /\r\n/.test(text) ? '\r\n' : '\n';
  const block = [
    `### Sign: ${name}`,
    '',
    `- **Trigger**: ${oneLine(sign.trigger)}`,
    `- **Instruction**: ${oneLine(sign.instruction)}`,
    `- **Added after**: ${oneLine(sign.addedAfter)}`,
    '',
  ].join(ending);
  if (text.trim() === '') return block;
  return `${text.trimEnd()}${ending}${ending}${block}`;
}

function sameName(a: string, b: string): boolean {
  return oneLine(a).toLowerCase() === oneLine(b).toLowerCase();
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
