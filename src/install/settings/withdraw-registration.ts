import { getNodeValue, type Node } from 'jsonc-parser/lib/esm/main.js';
import { sha256 } from '../../state/hash-contract.ts';
import { type SettingsRecord, withoutMark } from '../project-files.ts';
import { isOurHook } from './our-hooks.ts';
import { memberOf, parseSettings } from './settings-json.ts';

/** Removes our hooks; restores an unchanged file byte for byte. null if nothing is left. Throws `refused` if it is broken. */
export function withdrawRegistration(settings: string, record: SettingsRecord | null, path: string): string | null {
  const { mark, body } = withoutMark(settings);
  if (record !== null && sha256(settings) === record.after) {
    const text = record.inserted.reduceRight(
      (rest, { offset, length }) => rest.slice(0, offset) + rest.slice(offset + length),
      body,
    );
    return ended(mark + text, record);
  }
  let text = body;
  for (;;) {
    const span = nextSpan(parseSettings(text, path), record, isOurHook);
    if (span === null) return ended(mark + text, record);
    text = text.slice(0, span.from) + text.slice(span.to);
  }
}

/** Removes the hooks for which `isTaken` holds, and the containers that they leave empty. Throws `refused` if it is broken. */
export function withoutHooks(
  settings: string,
  path: string,
  isTaken: (entry: unknown) => boolean,
  comments = false,
): string {
  const { mark, body } = withoutMark(settings);
  let text = body;
  for (;;) {
    const span = nextSpan(parseSettings(text, path, comments), null, isTaken);
    if (span === null) return mark + text;
    text = text.slice(0, span.from) + text.slice(span.to);
  }
}

function ended(text: string, record: SettingsRecord | null): string | null {
  return record?.createdFile === true && /^\s*(\{\s*\})?\s*$/.test(text) ? null : text;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Returns the first entry to remove, or a container that it leaves empty; null if none is left. */
function nextSpan(root: Node | null, record: SettingsRecord | null, isTaken: (entry: unknown) => boolean): Span | null {
  const hooks = root && memberOf(root, 'hooks');
  if (!root || hooks?.type !== 'object') return null;
  for (const property of hooks.children ?? []) {
    const [key, list] = property.children ?? [];
    if (list?.type !== 'array') continue;
    for (const group of list.children ?? []) {
      const entries = group.type === 'object' ? memberOf(group, 'hooks') : null;
      const ours = entries?.children?.find((entry) => isTaken(getNodeValue(entry)));
      if (!entries || !ours) continue;
      if (entries.children?.length !== 1) return spanOf(entries, ours);
      if (list.children?.length !== 1) return spanOf(list, group);
      if (!mayGo(record, `hooks.${String(key?.value)}`)) return spanOf(list, group);
      if (hooks.children?.length !== 1) return spanOf(hooks, property);
      const whole = root.children?.find(({ children }) => children?.[1] === hooks);
      if (mayGo(record, 'hooks') && whole) return spanOf(root, whole);
      return spanOf(hooks, property);
    }
  }
  return null;
}

/** Returns whether an empty container may be removed. Without a record its author is unknown, and it is removed. */
function mayGo(record: SettingsRecord | null, key: string): boolean {
  return record === null || record.created.includes(key) || record.created.includes('hooks');
}

/** Returns the range of a child with the comma and the white space that belong to it. */
function spanOf(parent: Node, child: Node): Span {
  const children = parent.children ?? [];
  const index = children.indexOf(child);
  const [before, after] = [children[index - 1], children[index + 1]];
  if (before) return { from: before.offset + before.length, to: child.offset + child.length };
  if (after) return { from: child.offset, to: after.offset };
  return { from: parent.offset + 1, to: parent.offset + parent.length - 1 };
}
