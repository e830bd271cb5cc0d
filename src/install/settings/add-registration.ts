import { getNodeValue, type Node } from 'jsonc-parser/lib/esm/main.js';
import { type InsertedSpan, withoutMark } from '../files/install-manifest.ts';
import type { CommandHook, HookGroup, Registration } from './registration.ts';
import { insertIntoJson, memberOf, parseSettings, unchanged } from './settings-json.ts';

/** Changes no other byte; a command that is registered already stays. Throws `refused` if the file is broken. */
export function addRegistration(settings: string, registration: Registration, path: string) {
  const { mark, body } = withoutMark(settings);
  if (body.trim() === '') {
    const text = `${JSON.stringify({ hooks: registration }, null, 2)}\n`;
    return { text: mark + text + body, inserted: [{ offset: 0, length: text.length }], created: ['hooks'] };
  }
  let text = body;
  /** Insertions in order: cutting them out in reverse order restores the old text. */
  const inserted: InsertedSpan[] = [];
  /** Keys that were not there before: `hooks`, `hooks.Stop`. */
  const created: string[] = [];
  const insert = (container: Node, key: string | null, value: unknown): void => {
    const insertion = insertIntoJson(text, container, key, value);
    text = text.slice(0, insertion.offset) + insertion.text + text.slice(insertion.offset);
    inserted.push({ offset: insertion.offset, length: insertion.text.length });
  };
  const root = rootOf(text, path);
  if (memberOf(root, 'hooks') === null) {
    insert(root, 'hooks', registration);
    return { text: mark + text, inserted, created: ['hooks'] };
  }
  for (const [event, groups] of Object.entries(registration)) {
    for (const group of groups) {
      const hooks = expectType(memberOf(rootOf(text, path), 'hooks'), 'object', 'hooks', path);
      const list = memberOf(hooks, event);
      if (list === null) {
        insert(hooks, event, [group]);
        created.push(`hooks.${event}`);
      } else if (!holds(expectType(list, 'array', `hooks.${event}`, path), group)) insert(list, null, group);
    }
  }
  return { text: mark + text, inserted, created };
}

function rootOf(text: string, path: string): Node {
  const root = parseSettings(text, path);
  if (root === null) throw new Error(`${path} became empty`);
  return root;
}

function expectType(node: Node | null, type: 'object' | 'array', key: string, path: string): Node {
  if (node?.type === type) return node;
  const wanted = type === 'array' ? 'a list' : 'an object';
  throw unchanged(`${path}: "${key}" should be ${wanted}, but is ${node?.type ?? 'missing'}.`);
}

function holds(list: Node, group: HookGroup): boolean {
  const wanted = group.hooks.map(identity);
  const there = (getNodeValue(list) as unknown[]).flatMap((entry) => {
    const hooks = (entry as { hooks?: unknown } | null)?.hooks;
    return Array.isArray(hooks) ? hooks.map((hook) => identity(hook as CommandHook)) : [];
  });
  return wanted.every((one) => there.includes(one));
}

function identity(hook: CommandHook | null): string {
  return JSON.stringify([hook?.command, hook?.args ?? []]);
}
