import { getNodeValue, type Node } from 'jsonc-parser/lib/esm/main.js';
import { sha256 } from '../../state/hash-contract.ts';
import { type SettingsRecord, withoutMark } from '../project-files.ts';
import { memberOf, parseSettings } from './settings-sources.ts';
import { isOurHook } from './stop-hooks.ts';

/** Removes our hooks; restores an unchanged file byte for byte. Null if nothing is left. Throws `refused` if it is broken. */
export function withdrawRegistration(settings: string, record: SettingsRecord | null, path: string): string | null {
  const { mark, body } = withoutMark(settings);
  if (record !== null && sha256(settings) === record.after) {
    const text = record.inserted.reduceRight(
      (rest, { offset, length }) => rest.slice(0, offset) + rest.slice(offset + length),
      body,
    );
    return ended(mark + text, record);
  }
  return ended(withoutHooks(settings, path, isOurHook, true, record?.created), record);
}

/**
 * Removes the hooks for which `isTaken` is true, and the containers in `created` that they leave empty; undefined: all such
 * containers. Comments stay. Throws `refused` if the file is broken.
 */
export function withoutHooks(
  settings: string,
  path: string,
  isTaken: (entry: unknown) => boolean,
  comments = false,
  created?: readonly string[],
): string {
  const { mark, body } = withoutMark(settings);
  const rest = withoutNext(body, parseSettings(body, path, comments), created, isTaken);
  return rest === null ? settings : withoutHooks(mark + rest, path, isTaken, comments, created);
}

function ended(text: string, record: SettingsRecord | null): string | null {
  return record?.createdFile === true && /^\s*(\{\s*\})?\s*$/.test(text) ? null : text;
}

/** Returns the text without the first entry to remove, or a container left empty; null if none is left. */
function withoutNext(
  text: string,
  root: Node | null,
  created: readonly string[] | undefined,
  isTaken: (entry: unknown) => boolean,
): string | null {
  const hooks = root && memberOf(root, 'hooks');
  if (!root || hooks?.type !== 'object') return null;
  // A container stays if it contains a comment.
  const isAlone = ({ children }: Node, around: Node | undefined): boolean =>
    children?.length === 1 &&
    around !== undefined &&
    !hasComment(text.slice(around.offset, around.offset + around.length));
  // Without a record, it is unknown who created an empty container, and it is removed.
  const mayGo = (key: string): boolean => created?.includes(key) !== false || created.includes('hooks');
  for (const property of hooks.children ?? []) {
    const [key, list] = property.children ?? [];
    if (list?.type !== 'array') continue;
    for (const group of list.children ?? []) {
      const entries = group.type === 'object' ? memberOf(group, 'hooks') : null;
      const ours = entries?.children?.find((entry) => isTaken(getNodeValue(entry)));
      if (!entries || !ours) continue;
      if (!isAlone(entries, group)) return without(text, entries, ours);
      if (!isAlone(list, property) || !mayGo(`hooks.${String(key?.value)}`)) return without(text, list, group);
      const whole = root.children?.find(({ children }) => children?.[1] === hooks);
      if (!isAlone(hooks, whole) || !mayGo('hooks') || !whole) return without(text, hooks, property);
      return without(text, root, whole);
    }
  }
  return null;
}

/** Returns the text without a child and its comma, and without the white space around it unless there is a comment. */
function without(text: string, parent: Node, child: Node): string {
  const children = parent.children ?? [];
  const index = children.indexOf(child);
  const [before, after] = [children[index - 1], children[index + 1]];
  const end = child.offset + child.length;
  const from = before ? before.offset + before.length : after ? child.offset : parent.offset + 1;
  const to = before ? end : after ? after.offset : parent.offset + parent.length - 1;
  const around = [text.slice(from, child.offset), text.slice(end, to)];
  const kept = !around.some(hasComment) ? '' : around.map(withoutComma).join('');
  return text.slice(0, from) + kept + text.slice(to);
}

const TOKEN = /"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;

function hasComment(json: string): boolean {
  return json.match(TOKEN)?.some((token) => token.startsWith('/')) === true;
}

function withoutComma(gap: string): string {
  const at = gap.replace(TOKEN, (token) => ' '.repeat(token.length)).indexOf(',');
  return at === -1 ? gap : gap.slice(0, at) + gap.slice(at + 1);
}
