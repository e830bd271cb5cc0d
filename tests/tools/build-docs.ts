import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { COMMANDS } from '../../src/cli/commands.ts';
import { commandHelp, commandList } from '../../src/cli/help.ts';
import { TOPICS } from '../../src/hosts/host.ts';
import { HOSTS } from '../../src/hosts/hosts.ts';
import { ITERATION_CAP } from '../../src/task/frontmatter/schema.ts';
import { BY_FILE, COMPLETION_SIGNAL, DEFAULTS, type FileDefaults, IDLE } from '../../src/task/settings/defaults.ts';
import { clientsPage, readStored } from '../facts/stored.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

export async function referencePages(): Promise<readonly (readonly [string, string])[]> {
  return [
    ['docs/commands.md', await commandsPage()],
    ['docs/configuration.md', configurationPage()],
    ['docs/hosts.md', hostsPage()],
    [
      'docs/clients.md',
      page('Clients', 'tests/facts/clients.json', [readFixed('clients.md'), ...clientsPage(readStored())]),
    ],
  ];
}

async function commandsPage(): Promise<string> {
  const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()));
  const pages = commands
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((command) => {
      const [help] = commandHelp(command).split('\n\nCommon options:');
      const refused = command.control ? '\n\nRefused in the shell of an agent.' : '';
      return `## ${command.name}\n\n${fenced(`${help}\n\nExample: ${command.example}`)}${refused}`;
    });
  return page('Commands', 'the command table', [readFixed('commands.md'), fenced(commandList()), ...pages]);
}

function configurationPage(): string {
  const path = join(root, 'schemas', 'prompt-frontmatter.schema.json');
  const schema = JSON.parse(readFileSync(path, 'utf8')) as Schema;
  const table = ['| key | value | default | meaning |', '| --- | --- | --- | --- |', ...keyRows(schema, DEFAULTS)].join(
    '\n',
  );
  return page('Configuration', 'the schema of the task file', [
    readFixed('configuration.md').replace('{{ keys }}', table).replace('{{ by file }}', byFileTable()),
  ]);
}

function hostsPage(): string {
  const rows = [
    ['', ...HOSTS.map(({ title }) => title)],
    HOSTS.map(() => '---').concat('---'),
    ['oldest version', ...HOSTS.map(({ oldest }) => oldest)],
    ...TOPICS.map((topic) => [topic, ...HOSTS.map(({ topics }) => topics[topic])]),
  ];
  const table = rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  const refused = HOSTS.flatMap(({ title, cannot }) =>
    cannot.map(({ setting, because }) => `- \`${setting}\`: ${title} ${because}`),
  );
  return page('Hosts', 'the tables of the hosts', [
    readFixed('hosts.md'),
    `## What works where\n\n${table}`,
    `## Settings that are refused\n\n${refused.join('\n')}`,
  ]);
}

const KINDS = ['prompt', 'ralph-md', 'checklist'] as const;

function byFileTable(): string {
  const kinds = KINDS.map((kind) => BY_FILE[kind]);
  const keys = ['max_iterations', 'timeout', 'stop_on_error'] as const;
  const rows = [
    ...keys.map((key) => [`\`${key}\``, ...kinds.map(({ values }) => defaultText(values[key], key))]),
    ['highest `max_iterations`', ...KINDS.map((kind) => ITERATION_CAP[kind])],
    ['completion without a promise', ...kinds.map(({ completion }) => COMPLETIONS[completion])],
    ['can end as `no-progress-exhaustion`', ...kinds.map(({ tracksProgress }) => (tracksProgress ? 'yes' : 'no'))],
  ];
  const lines = rows.map((cells) => `| ${cells.join(' | ')} |`);
  return ['| | `PROMPT.md` | `RALPH.md` | `task.md` |', '| --- | --- | --- | --- |', ...lines].join('\n');
}

function defaultText(value: unknown, key = ''): string {
  if (key === 'timeout') return `\`${durationText(Number(value) * 1000)}\``;
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return 'none';
  if (typeof value === 'object') return Array.isArray(value) ? `\`${value.join(', ')}\`` : '';
  return typeof value === 'number' && value >= 30_000 ? `\`${durationText(value)}\`` : `\`${value}\``;
}

function durationText(ms: number): string {
  const unit = [3_600_000, 60_000, 1000].find((size) => ms % size === 0) ?? 1000;
  return `${ms / unit}${unit === 3_600_000 ? 'h' : unit === 60_000 ? 'm' : 's'}`;
}

const COMPLETIONS: Readonly<Record<FileDefaults['completion'], string>> = {
  signal: `\`${COMPLETION_SIGNAL}\``,
  none: 'none; works up to its limit',
  list: 'every item checked',
};

/** Rows of a mapping: each key, and below it the keys of its mappings as `key.name` and of its lists as `key[].name`. */
function keyRows(schema: Schema, defaults: unknown, prefix = ''): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, value]) => {
    const key = prefix + name;
    const byFile = prefix === '' && name in BY_FILE.prompt.values;
    const own = defaults === null ? undefined : Reflect.get(defaults as object, name);
    // A default that depends on other keys stands in the description.
    const depends = /by default if|Default: /.test(value.description ?? '');
    const shown = defaults === null ? '' : byFile ? 'by file' : depends ? 'depends' : defaultText(own);
    const description = (value.description ?? '').replace(/[|<]/g, (char) => (char === '<' ? '&lt;' : '\\|'));
    const entries = [value.items ?? {}, ...(value.items?.anyOf ?? [])];
    return [
      `| \`${key}\` | ${valueText(value)} | ${shown} | ${description} |`,
      ...keyRows(value, name === 'idle' ? IDLE : (own ?? null), `${key}.`),
      // Forms of an entry share keys.
      ...new Set(entries.flatMap((entry) => keyRows(entry, null, `${key}[].`))),
    ];
  });
}

function valueText({ type, enum: values, minimum, maximum, pattern, anyOf, items }: Schema): string {
  if (items?.enum !== undefined) return `list of ${valueText(items)}`;
  if (values !== undefined) return values.map((value) => `\`${value}\``).join(', ');
  if (pattern?.startsWith('^\\d') === true) return 'duration';
  if (anyOf !== undefined) return [...new Set(anyOf.map(valueText))].join(' or ');
  const name =
    type === 'boolean' ? '`true`, `false`' : type === 'object' ? 'mapping' : type === 'array' ? 'list' : type;
  const upper = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? '' : ` to ${maximum}`;
  return `${name ?? 'any'}${minimum === undefined ? '' : upper === '' ? `, at least ${minimum}` : `, ${minimum}${upper}`}`;
}

function page(title: string, source: string, parts: readonly string[]): string {
  const notice = `<!-- Generated by \`npm run docs\` from ${source}. -->`;
  return `${[`# ${title}`, notice, ...parts.map((part) => part.trim())].join('\n\n')}\n`;
}

function readFixed(name: string): string {
  return readFileSync(join(root, 'docs', 'fixed', name), 'utf8');
}

function fenced(text: string): string {
  return `\`\`\`text\n${text}\n\`\`\``;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const [path, text] of await referencePages()) writeFileSync(join(root, path), text);
}
