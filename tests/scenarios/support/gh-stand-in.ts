import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Project } from '../../support/project.ts';

export interface GhIssue {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly labels?: readonly string[];
  /** Default OPEN. */
  readonly state?: string;
  /** Where gh shows it; default: under its number. */
  readonly url?: string;
  readonly comments?: readonly {
    readonly author: { readonly login: string };
    readonly body: string;
    readonly viewerDidAuthor?: boolean;
  }[];
}

export interface GhState {
  readonly calls: readonly (readonly string[])[];
  readonly comments: readonly { readonly on: string; readonly body: string }[];
  readonly pulls: readonly Pull[];
}

export interface Pull {
  readonly head: string;
  readonly body: string;
  /** Commit, and whether its branch is in a fork. */
  readonly oid: string;
  readonly fork?: boolean;
  readonly state?: string;
}

/** Stands in for gh: answers from a file, records its calls, and once kills who called it before or after it wrote. */
const PROGRAM = `#!NODE
const fs = require('node:fs');
const path = process.env.GH_STATE;
const state = JSON.parse(fs.readFileSync(path, 'utf8'));
const words = process.argv.slice(2);
const what = words.slice(0, 2).join(' ');
const value = (name) => { const at = words.indexOf(name); return at === -1 ? (words.find((w) => w.startsWith(name + '=')) || '').slice(name.length + 1) : words[at + 1]; };
const save = () => fs.writeFileSync(path, JSON.stringify(state));
const number = (word) => Number(String(word).split('/').at(-1));
const times = state.calls.filter((one) => one.slice(0, 2).join(' ') === what).length;
const kill = (when) => {
  if (process.env.GH_KILL !== what + ' ' + (times === 0 ? '' : times + 1 + ' ') + when || state.killed) return;
  state.killed = true; save(); process.kill(process.ppid, 'SIGKILL'); process.exit(1);
};
state.calls.push(words); save();
kill('before');
if (process.env.GH_SAYS) console.error(process.env.GH_SAYS);
if (process.env.GH_FAILS) process.exit(Number(process.env.GH_FAILS));
if (process.env.CLICOLOR_FORCE || process.env.GH_FORCE_TTY) console.log('\\x1b[0m');
if (what === 'issue view') {
  const found = state.issues.find((one) => one.number === number(words[2]));
  if (!found) { console.error('no such issue'); process.exit(1); }
  const own = state.comments.filter((one) => !process.env.GH_BLIND && number(one.on) === found.number).map(({ body }) => ({ body, author: { login: 'me' }, viewerDidAuthor: true }));
  console.log(JSON.stringify({ url: 'https://example.invalid/o/r/issues/' + found.number, state: 'OPEN', ...found, comments: [...(found.comments || []), ...own] }));
} else if (what === 'issue list') {
  console.log(JSON.stringify(state.issues.filter((one) => (one.labels || []).includes(value('--label')) && (one.state || 'OPEN') === 'OPEN').slice(0, value('--limit')).map(({ number }) => ({ number }))));
} else if (what === 'issue comment') {
  state.comments.push({ on: words[2], body: fs.readFileSync(0, 'utf8') }); save();
} else if (what === 'pr list' && process.env.GH_NO_LIST) {
  console.log(process.env.GH_NO_LIST); console.error('HTTP 502'); process.exit(1);
} else if (what === 'pr list') {
  console.log(JSON.stringify(state.pulls.filter((one) => !process.env.GH_BLIND && one.head === value('--head')).map((one, at) => ({ url: 'https://example.invalid/o/r/pull/' + (at + 1), state: one.state || 'OPEN', headRefOid: one.oid, isCrossRepository: one.fork === true }))));
} else if (what === 'pr create') {
  const oid = require('node:child_process').execFileSync('git', ['rev-parse', value('--head')], { encoding: 'utf8' }).trim();
  state.pulls.push({ head: value('--head'), body: fs.readFileSync(0, 'utf8'), oid }); save();
  console.log('https://example.invalid/o/r/pull/' + state.pulls.length);
} else { console.error('unknown: ' + what); process.exit(1); }
kill('after');
`;

/** Puts it first on the PATH. */
export function withGh(p: Project, issues: readonly GhIssue[], pulls: readonly Pull[] = []) {
  const path = join(p.dir, '../gh.json');
  writeFileSync(path, JSON.stringify({ issues, calls: [], comments: [], pulls }));
  p.write('../bin/gh', PROGRAM.replace('NODE', process.execPath), 0o755);
  const env = { PATH: `${join(p.dir, '../bin')}:${p.env['PATH']}`, GH_STATE: path };
  return { env, state: () => JSON.parse(readFileSync(path, 'utf8')) as GhState };
}
