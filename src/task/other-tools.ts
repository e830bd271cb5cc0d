import { existsSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { callHere, programName } from '../state/process/program.ts';
import { quoted } from '../text/quote.ts';

/** File of another loop or specification tool. */
interface OtherFile {
  readonly tool: string;
  readonly path: RegExp;
  /** A line that only this tool writes; absent if the path is enough. */
  readonly line?: RegExp;
  /** What its name as a loop comes from: the file or its folder. */
  readonly named: 'file' | 'folder';
}

const TABLE: readonly OtherFile[] = [
  { tool: 'spec-kit', path: /(?:^|\/)specs\/[^/]+\/tasks\.md$/, line: /^- \[.\] T\d{3}\b/m, named: 'folder' },
  { tool: 'Kiro', path: /(?:^|\/)\.kiro\/specs\/[^/]+\/tasks\.md$/, named: 'folder' },
  { tool: 'OpenSpec', path: /(?:^|\/)openspec\/changes\/(?:[^/]+\/)+tasks\.md$/, named: 'folder' },
  { tool: 'ralph-claude-code', path: /(?:^|\/)@?fix_plan\.md$/, named: 'file' },
  { tool: 'ralphex', path: /\.md$/, line: /^### (?:Task|Iteration) \d+[:.]/m, named: 'file' },
  { tool: 'ralph', path: /(?:^|\/)prd\.json$/i, line: /"userStories"\s*:/, named: 'file' },
];

/** Command that writes stories as items of a checklist. */
const STORIES =
  'node -e \'for (const s of JSON.parse(require("fs").readFileSync(0)).userStories) console.log(`- [${s.passes ? "x" : " "}] ${s.id}: ${s.title}`)\'';

/** Says which tool a list comes from and how to run it here as a checklist; null for any other file. */
export function otherLoopText(path: string, text: string, open: string): string | null {
  const project = callHere().elsewhere?.dir;
  const plain = (project !== undefined ? relative(project, resolve(project, path)) : fromHere(path)).replaceAll(
    '\\',
    '/',
  );
  const found = TABLE.find((file) => file.path.test(plain) && (file.line === undefined || file.line.test(text)));
  if (found === undefined) return null;
  const stem = found.named === 'folder' ? basename(dirname(plain)) : basename(plain).replace(/\.\w+$/, '');
  const name = stem.replace(/[^\w.-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '') || 'tasks';
  const target = `.ralph/${name}/task.md`;
  const copy = plain.toLowerCase().endsWith('.json')
    ? `${STORIES} < ${quoted(plain)} > ${target}`
    : `cp ${quoted(plain)} ${target}`;
  const run = `${programName()} run ${name}`;
  const told = `this is a list of ${found.tool}, and ${open}`;
  // The copy has what was added and checked since.
  if (existsSync(join(project ?? '', target)))
    return `${told}. ${target} exists, and a new copy would replace it. To work on that: ${run}`;
  const there = project === undefined ? '' : `cd ${quoted(project)} && `;
  return `${told}. To work on it as a checklist: ${there}mkdir -p .ralph/${name} && ${copy} && ${run}`;
}

/** Returns a path relative to the current folder, if it is inside it. */
export function fromHere(path: string): string {
  const own = isAbsolute(path) ? relative(process.cwd(), path) : path;
  return own.startsWith('..') ? path : own;
}
