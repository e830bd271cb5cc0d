import { parse } from 'unbash';
import { validationSection } from './validation-section.ts';

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
