import { type Line, lines } from '../../text/markdown/lines.ts';
import { hasParseErrors, parseShell } from '../../text/shell/parse-shell.ts';

/** Returns the section "Validation Commands", up to the next heading of its level; null if there is none. */
export function validationSection(body: string): { readonly line: number; readonly lines: readonly Line[] } | null {
  const all = [...lines(body)];
  let found: { line: number; level: number } | null = null;
  for (const { heading, number } of all) {
    if (heading === null || heading.isUnderline) continue;
    if (found !== null && heading.level <= found.level)
      return { line: found.line, lines: all.slice(found.line, number - 1) };
    if (found === null && isTitle(heading.title)) found = { line: number, level: heading.level };
  }
  return found && { line: found.line, lines: all.slice(found.line) };
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
/** Commands that prepare for a later one; a block with such commands remains one command. */
const SETS_UP = /^(?:cd|pushd|export|set|source|\.|alias|unset)$/;
/** Pattern for a list item that reads as a command, not as a sentence. */
const COMMAND_LIKE = /^(?:\.{0,2}\/)?[a-z][\w./-]*(?: .*[^.:!?])?$/;

/** Returns commands in shell fences and inline code of list items, else items that read as commands. */
export function extractValidationCommands(body: string): string[] {
  const section = validationSection(body);
  if (section === null) return [];
  const { fences, items } = blocks(section.lines);
  const inline = items.flatMap(inlineCode);
  const found = [...fences.flatMap(fenceCommands), ...inline];
  if (found.length > 0) return [...new Set(found)];
  return [...new Set(items.map((item) => item.trim()).filter((item) => COMMAND_LIKE.test(item)))];
}

function blocks(section: readonly Line[]): { fences: string[]; items: string[] } {
  const fences: string[] = [];
  const items: string[] = [];
  let open: { column: number; isShell: boolean; lines: string[] } | null = null;
  for (const { raw, column, fence, content, itemsBegun } of section) {
    if (fence === 'opens') {
      const [language = ''] = content.replace(/^[`~]+\s*/, '').split(/[\s{]/, 1);
      open = { column, isShell: SHELL_FENCE.test(language), lines: [] };
    } else if (fence === 'inside')
      open?.lines.push(raw.slice(Math.min(open.column, raw.length - raw.trimStart().length)));
    else if (fence === 'closes' && open?.isShell) fences.push(open.lines.join('\n'));
    else if (itemsBegun > 0) items.push(content.replace(/^\[[ xX]\]\s+/, ''));
  }
  return { fences, items };
}

function inlineCode(item: string): string[] {
  return [...item.matchAll(/(`+)(?!`)(.+?)(?<!`)\1(?!`)/g)]
    .map(([, , code = '']) => code.trim())
    .filter((code) => code !== '');
}

/** Returns one command per statement, unless a statement prepares for the next. */
function fenceCommands(block: string): string[] {
  const transcript = block.split('\n').filter((line) => /^\s*\$ /.test(line));
  const source = transcript.length > 0 ? transcript.map((line) => line.trim().slice(2)).join('\n') : block;
  const script = parseShell(source);
  if (/<<-?\s*['"\w]/.test(source) || hasParseErrors(script)) return whole(source);
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
