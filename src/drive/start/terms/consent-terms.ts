import type { CommandDefinition, Contract, EvidenceCommand } from '../../../engine/schema/contract.ts';
import type { TddRecord } from '../../../engine/schema/tdd.ts';
import { hostOf } from '../../../hosts/hosts.ts';
import { sha256 } from '../../../state/hash-contract.ts';
import { snakeCase } from '../../../task/frontmatter/canonical-keys.ts';
import { ABSENT } from '../../../task/pinned-scripts/contract-scripts.ts';
import { printable } from '../../../term/format.ts';
import { RalphError } from '../../../text/message.ts';
import { formatDuration } from '../../../text/time.ts';

/** Everything to which a user agrees, as key and value; a list has one entry for each item. Without ids and times. */
export type ConsentTerms = readonly (readonly [key: string, value: string])[];

/** Returns the terms of a loop. `list` holds the scenarios of a test-first loop. */
export function consentTerms(contract: Contract, list: TddRecord | null): ConsentTerms {
  const { taskPath, agent, host, client, task, validation, guardrails, sandbox, policy, flags } = contract;
  return [
    ['task', taskPath],
    ['agent', agent === undefined ? hostOf(host).title : `the command: ${agent}`],
    ...flatten('', client),
    ...commandTerms('validation', validation),
    ...flatten('unchanged', contract.unchanged),
    ...(task === null ? [] : taskTerms(task)),
    ...(list === null ? [] : listTerms(list)),
    ...flatten('guardrails', guardrails),
    ...flatten('sandbox', sandbox === undefined ? undefined : { mode: 'on', ...sandbox }),
    ...flatten('', policy),
    ...flatten('commit_message', contract.commitMessage),
    ...flatten('commit_footers', contract.commitFooters),
    ...flatten('findings_log', contract.findingsLog),
    ...flatten('accept', contract.accept),
    ...notifyTerms(contract),
    ...flatten('may_change', contract.mayChange),
    ...flatten('may_run', contract.mayRun),
    ...flatten('verify_in.worktree', contract.verifyIn),
    ...(contract.skipsBaseline ? [['baseline', 'false'] as const] : []),
    ...scriptTerms(contract.scripts),
    ...Object.entries(flags).map(([key, value]) => [`option ${key}`, String(value)] as const),
  ];
}

export function listTerms({ scenarios, scripts }: Pick<TddRecord, 'scenarios' | 'scripts'>): ConsentTerms {
  return [
    ...scenarios.map(
      ({ id, description, run, timeoutSeconds }) =>
        [`scenario ${id}`, `${description}  ${run} (${timeoutSeconds} s)`] as const,
    ),
    ...scriptTerms(scripts),
  ];
}

/** Returns the terms of notifications. A command is one term, because its words belong together. */
function notifyTerms({ notify }: Contract): ConsentTerms {
  if (notify === undefined) return [];
  const { command, ...rest } = notify;
  return [...flatten('notify.command', command && [command]), ...flatten('notify', rest)];
}

function taskTerms({ commands, args, gate, ...rest }: NonNullable<Contract['task']>): ConsentTerms {
  return [
    ...commandTerms('commands', commands),
    ...Object.entries(args).map(([name, value]) => [`argument ${name}`, value] as const),
    ['completion_gate', gate],
    ...flatten('', rest),
  ];
}

function commandTerms(key: string, commands: readonly (CommandDefinition | EvidenceCommand)[]): ConsentTerms {
  return commands.map((command) => {
    const accepts = 'acceptance' in command && command.acceptance ? ', acceptance' : '';
    const place = 'directory' in command && command.directory === 'task' ? ', in the task folder' : '';
    return [key, `${command.run} (${command.timeoutSeconds} s${accepts}${place})`] as const;
  });
}

function scriptTerms(scripts: Readonly<Record<string, string>>): ConsentTerms {
  return Object.entries(scripts).flatMap(([path, hash]) =>
    hash === ABSENT ? [] : [[`script ${path}`, `sha256 ${hash}`] as const],
  );
}

/** Returns the leaves of a value by key path, except those that are null, false or empty. */
function flatten(path: string, value: unknown): ConsentTerms {
  if (value === undefined || value === null || value === false || value === '') return [];
  if (Array.isArray(value))
    return value.map((item) => [path, typeof item === 'string' ? item : JSON.stringify(item)] as const);
  if (typeof value !== 'object') return [[path, String(value)]];
  return Object.entries(value).flatMap(([key, item]) =>
    flatten(path === '' ? snakeCase(key) : `${path}.${snakeCase(key)}`, item),
  );
}

/** Returns the consent digest: SHA-256 over the terms in sorted order. */
export function consentDigest(terms: ConsentTerms): string {
  const lines = terms.map(([key, value]) => JSON.stringify([key, value])).sort();
  return sha256(lines.join('\n'));
}

/** Returns the differences, one line for each term: `key: old -> new`, or a term with "+" or "-" before it. */
export function diffTerms(before: ConsentTerms, after: ConsentTerms): string[] {
  const removed = without(before, after);
  const added = without(after, before);
  const keys = [...new Set([...removed, ...added].map(([key]) => key))];
  return keys.flatMap((key) => {
    const [old, current] = [removed, added].map((terms) => terms.filter(([other]) => other === key));
    if (old?.length === 1 && current?.length === 1) {
      const [[name, was], [, is]] = [shownTerm([key, old[0]?.[1] ?? '']), shownTerm([key, current[0]?.[1] ?? ''])];
      return [`${name}: ${was} -> ${is}`];
    }
    return [
      ...(old ?? []).map((term) => `- ${termLine(term)}`),
      ...(current ?? []).map((term) => `+ ${termLine(term)}`),
    ];
  });
}

function without(terms: ConsentTerms, others: ConsentTerms): ConsentTerms {
  const left = others.map(([key, value]) => JSON.stringify([key, value]));
  return terms.filter(([key, value]) => {
    const at = left.indexOf(JSON.stringify([key, value]));
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
}

function termLine(term: ConsentTerms[number]): string {
  return shownTerm(term).join(': ');
}

/** Returns the terms for people, one line each, without control characters that could disguise them. */
export function showTerms(terms: ConsentTerms): string[] {
  const shown = terms.map(shownTerm);
  const width = Math.min(26, Math.max(0, ...shown.map(([key]) => key.length)));
  return shown.map(([key, value]) => `  ${key.padEnd(width)}  ${value}`);
}

/** Returns a term for people: times of the policy, in milliseconds, become durations. */
function shownTerm([key, value]: ConsentTerms[number]): [key: string, value: string] {
  if (/_ms$/.test(key) && /^\d+$/.test(value)) return [key.slice(0, -'_ms'.length), formatDuration(Number(value))];
  return [printableLine(key), printableLine(value)];
}

export function printableLine(text: string): string {
  return printable(text).replaceAll('\n', ' ⏎ ');
}

const CHANGED = 'this changed after you were shown what would run. Nothing was started or adopted';

/** Throws RalphError `refused` with what changed since the approval. Called under the lock that records it. */
export function requireApproved(approved: ConsentTerms, current: ConsentTerms, why = CHANGED): void {
  if (consentDigest(approved) === consentDigest(current)) return;
  const changes = diffTerms(approved, current).map((line) => `\n  ${line}`);
  throw new RalphError('refused', `${why}:${changes.join('')}`);
}
