import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { postToolUse, preToolUse } from '../../../src/drive/hook/tool-use.ts';
import type { LoopNotice } from '../../../src/engine/schema/records.ts';
import { readNotices } from '../../../src/state/loop-files.ts';
import { aHook, aProject, type Project, put, rewrite, start } from '../drive/drive-project.ts';

export const TASK = `---
guardrails:
  protected_files: ['tests/**', '*.lock']
---

Do the work.
`;

/** Names that a careless program takes for something else. */
const ODD_NAMES = [
  ...[
    'with space.ts',
    'line\nbreak.ts',
    '-rf',
    '--help.ts',
    `quote'".ts`,
    '*.ts',
    '\\back.ts',
    '%E9.ts',
    '.hidden',
    ' ',
  ],
  ...['\u00fcber.ts', 'u\u0308ber.ts', 'FILE-0.TS', 'constructor', `${'l'.repeat(250)}.ts`, 'tab\t.ts', '\u{1f600}.ts'],
];
/** No UTF-8. */
const ODD_BYTES = ['caf\xe9.ts', '\xff\xfe', 'd\xe9/deep/\xe4.ts', 'half\xc3'];

function putOddFiles(folder: string): void {
  for (const [nth, name] of ODD_NAMES.entries()) put(join(folder, name), `odd ${nth}\n`);
  for (const [nth, name] of ODD_BYTES.entries()) {
    const at = (text: string): Buffer => Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(text, 'latin1')]);
    mkdirSync(at(name.slice(0, Math.max(0, name.lastIndexOf('/')))), { recursive: true });
    writeFileSync(at(name), `bytes ${nth}\n`);
  }
  for (const [name, mode] of Object.entries({ 'read-only.ts': 0o444, 'closed.ts': 0, 'sticky.ts': 0o4755 })) {
    put(join(folder, name), `${name}\n`);
    chmodSync(join(folder, name), mode);
  }
  put(join(folder, 'empty.ts'), '');
  put(join(folder, 'large.ts'), 'large '.repeat(100_000));
  linkSync(join(folder, 'large.ts'), join(folder, 'second-name.ts'));
  symlinkSync('nowhere', join(folder, 'dangling.ts'));
  symlinkSync('.', join(folder, 'circle'));
  put(join(folder, 'nested', '.git', 'HEAD'), 'ref: refs/heads/main\n');
  put(join(folder, 'nested', 'a.ts'), 'nested\n');
}

/** A loop of session-1 that protects a tree of tests and lock files; src/ is the agent's work. `more` are further files. */
export function aProtectedLoop(
  t: TestContext,
  task = TASK,
  { odd = false, more = {} }: { readonly odd?: boolean; readonly more?: Readonly<Record<string, string>> } = {},
): Project {
  const project = aProject(t, task);
  const { directory } = project;
  for (let nth = 0; nth < 60; nth += 1) {
    const folder = ['', 'unit/', 'unit/deep/', 'e2e/', 'e2e/a/b/'][nth % 5];
    put(join(directory, 'tests', `${folder}file-${nth}.ts`), `test ${nth}\n`.repeat(1 + (nth % 7)));
  }
  chmodSync(join(directory, 'tests', 'file-0.ts'), 0o755);
  symlinkSync('../src/work.ts', join(directory, 'tests', 'link.ts'));
  if (odd) putOddFiles(join(directory, 'tests'));
  put(join(directory, 'deps.lock'), 'locked\n');
  put(join(directory, 'src', 'work.ts'), 'work\n');
  for (const [path, text] of Object.entries(more)) put(join(directory, path), text);
  // Its hooks go by the real clock: a turn that began long ago would be out of time.
  start(project, true, 'refuse', new Date().toISOString());
  rewrite(project, { sessionId: 'session-1' });
  return project;
}

let calls = 0;

/** One call of a tool: its hooks, with `work` between them. Returns what the hook said after it. */
export async function call(
  project: Project,
  work: () => void,
  { tool = 'Bash', input = { command: 'node job.mjs' } as object, env = {} as Record<string, string> } = {},
) {
  calls += 1;
  const payload = { tool_name: tool, tool_input: input, tool_use_id: `call-${calls}`, cwd: project.directory };
  const before = await preToolUse(aHook(project, 'PreToolUse', payload, env));
  work();
  const after = await postToolUse(aHook(project, 'PostToolUse', payload, env));
  return { before, after };
}

/** Type, permissions and content of everything below a folder, by relative path in latin1; nothing of git's own. */
export function treeOf(folder: string): Record<string, string> {
  const tree: Record<string, string> = {};
  const root = Buffer.from(`${folder}/`);
  const open = [Buffer.alloc(0)];
  for (const below of open) {
    for (const name of readdirSync(Buffer.concat([root, below]), { encoding: 'buffer' })) {
      const entry = Buffer.concat([below, name]);
      const path = Buffer.concat([root, entry]);
      const stat = lstatSync(path);
      const key = entry.toString('latin1');
      if (stat.isSymbolicLink()) tree[key] = `link ${readlinkSync(path)}`;
      else if (stat.isFile()) tree[key] = `${(stat.mode & 0o7777).toString(8)} ${readFileSync(path, 'utf8')}`;
      else if (stat.isDirectory() && name.toString() !== '.git') open.push(Buffer.concat([entry, Buffer.from('/')]));
      else if (!stat.isDirectory()) tree[key] = 'other';
    }
  }
  return tree;
}

export function noticesIn({ files }: Project): LoopNotice[] {
  return readNotices(files);
}
