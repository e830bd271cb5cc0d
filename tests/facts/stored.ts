import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atLeast } from '../../src/text/version.ts';
import { CLIENTS, type ClientName } from './install.ts';
import { probesOf } from './list.ts';

/** Values of facts by client, version and name. */
export type Stored = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>>;

export const STORED = join(dirname(fileURLToPath(import.meta.url)), 'clients.json');

export const readStored = (): Stored => JSON.parse(readFileSync(STORED, 'utf8')) as Stored;

/** Returns the stored versions of a client, oldest first. */
export function versionsOf(stored: Stored, name: string): string[] {
  return Object.keys(stored[name] ?? {}).toSorted((a, b) => (a === b ? 0 : atLeast(a, b) ? 1 : -1));
}

/** Returns the table of a client's facts by version; a value that the product relies on is bold. */
export function factTable(stored: Stored, name: string): string {
  const versions = versionsOf(stored, name);
  const rows = probesOf(name).flatMap(({ facts }) =>
    Object.entries(facts).map(([fact, { relied }]) => {
      const values = versions.map((version) => stored[name]?.[version]?.[fact] ?? 'not measured');
      return [fact, ...values.map((value) => (value === relied ? `**${value}**` : value))];
    }),
  );
  const all = [['fact', ...versions], ['---', ...versions.map(() => '---')], ...rows];
  return all.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Returns what differs between two measurements of a client, and every value that the product could not work with. */
export function judge(
  name: ClientName,
  before: Readonly<Record<string, string>> | undefined,
  now: Readonly<Record<string, string>>,
): { readonly broken: readonly string[]; readonly changed: readonly string[] } {
  const broken: string[] = [];
  const changed: string[] = [];
  for (const { facts } of probesOf(name)) {
    for (const [fact, { relied }] of Object.entries(facts)) {
      const [was, is] = [before?.[fact], now[fact] ?? 'not measured'];
      if (relied !== undefined && is !== relied) broken.push(`${fact}: ${is}, and we rely on: ${relied}`);
      else if (was !== undefined && was !== is) changed.push(`${fact}: ${was} -> ${is}`);
    }
  }
  return { broken, changed };
}

/** Returns docs/clients.md. */
export function clientsPage(stored: Stored): string[] {
  return Object.keys(CLIENTS).map((name) => `## ${name}\n\n${factTable(stored, name)}`);
}
