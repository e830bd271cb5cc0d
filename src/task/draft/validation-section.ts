import { parse } from 'unbash';
import { LINE_END } from '../../text/characters.ts';
import { stepFence } from '../../text/markdown/lines.ts';

export interface ValidationSection {
  /** Line of the heading, from 1, within the body. */
  readonly line: number;
  /** The lines between the heading and the next one of the same or a higher level. */
  readonly lines: readonly string[];
}

/** The section of a task file's body whose heading says "Validation Commands", or null. */
export function validationSection(body: string): ValidationSection | null {
  const lines = body.split(LINE_END);
  let fence: string | null = null;
  let found: { line: number; level: number } | null = null;
  for (const [index, line] of lines.entries()) {
    const step = stepFence(fence, line);
    fence = step.fence;
    if (step.inside) continue;
    const [, hashes, title = ''] = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/s.exec(line) ?? [];
    if (hashes === undefined) continue;
    if (found !== null && hashes.length <= found.level)
      return { line: found.line, lines: lines.slice(found.line, index) };
    if (found === null && isTitle(title)) found = { line: index + 1, level: hashes.length };
  }
  return found && { line: found.line, lines: lines.slice(found.line) };
}

function isTitle(text: string): boolean {
  const words = text
    .replace(/[*_`#:]/g, ' ')
    .trim()
    .split(/\s+/)
    .join(' ')
    .toLowerCase();
  return /^(?:\d+[.)] ?)?validation commands?$/.test(words);
}

const SHELL_FENCE = /^(?:bash|sh|shell|zsh|console|shell-session|terminal)?$/i;
/** What a later command of the same block depends on: such a block stays one command. */
const SETS_UP = /^(?:cd|pushd|export|set|source|\.|alias|unset)$/;
/** The text of a list item without inline code that reads as a command, not as a sentence. */
const COMMAND_LIKE = /^(?:\.{0,2}\/)?[a-z][\w./-]*(?: .*[^.:!?])?$/;

/**
 * The commands that a "Validation Commands" section names, each once, in order: those of its shell fences and the
 * inline code of its list items; where it has neither, list items that read as a command. For a person to say yes to.
 */
export function extractValidationCommands(body: string): string[] {
  const section = validationSection(body);
  if (section === null) return [];
  const { fences, items } = blocks(section.lines);
  const inline = items.flatMap(inlineCode);
  const found = [...fences.flatMap(fenceCommands), ...inline];
  if (found.length > 0) return [...new Set(found)];
  return [...new Set(items.map((item) => item.trim()).filter((item) => COMMAND_LIKE.test(item)))];
}

function blocks(lines: readonly string[]): { fences: string[]; items: string[] } {
  const fences: string[] = [];
  const items: string[] = [];
  let fence: { marks: string; indent: number; wanted: boolean; lines: string[] } | null = null;
  for (const line of lines) {
    const [, indent = '', marks, info = ''] = /^([ \t]*)(`{3,}|~{3,})(.*)$/s.exec(line) ?? [];
    if (fence !== null) {
      if (marks?.startsWith(fence.marks) && info.trim() === '') {
        if (fence.wanted) fences.push(fence.lines.join('\n'));
        fence = null;
      } else fence.lines.push(line.slice(Math.min(fence.indent, line.length - line.trimStart().length)));
    } else if (marks !== undefined && !(marks.startsWith('`') && info.includes('`'))) {
      const language = info.trim().split(/[\s{]/, 1)[0] ?? '';
      fence = { marks, indent: indent.length, wanted: SHELL_FENCE.test(language), lines: [] };
    } else {
      const item = /^\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(\S.*)$/s.exec(line)?.[1];
      if (item !== undefined) items.push(item);
    }
  }
  return { fences, items };
}

function inlineCode(item: string): string[] {
  return [...item.matchAll(/(`+)(?!`)(.+?)(?<!`)\1(?!`)/g)]
    .map(([, , code = '']) => code.trim())
    .filter((code) => code !== '');
}

/** One command a statement; a block in which one statement prepares for the next stays together. */
function fenceCommands(block: string): string[] {
  const transcript = block.split('\n').filter((line) => /^\s*\$ /.test(line));
  const source = transcript.length > 0 ? transcript.map((line) => line.trim().slice(2)).join('\n') : block;
  const script = parse(source);
  if (/<<-?\s*['"\w]/.test(source) || (script.errors?.length ?? 0) > 0) return whole(source);
  const statements = script.commands.map(({ command, pos, end }) => ({
    text: source.slice(pos, end).trim(),
    setsUp: command.type === 'Command' && (command.name === undefined || SETS_UP.test(command.name.value)),
  }));
  const texts = statements.map(({ text }) => text).filter((text) => text !== '');
  return statements.some(({ setsUp }) => setsUp) ? whole(texts.join(' && ')) : texts;
}

function whole(text: string): string[] {
  return text.trim() === '' ? [] : [text.trim()];
}
