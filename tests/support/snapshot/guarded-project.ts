import { chmodSync, lstatSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { postToolUse, preToolUse } from '../../../src/drive/hook/tool-use.ts';
import { readNotices } from '../../../src/drive/records/notices.ts';
import type { LoopNotice } from '../../../src/engine/schema/records.ts';
import { aHook, aProject, type Project, put, rewrite, start } from '../drive/drive-project.ts';

export const TASK = `---
guardrails:
  protected_files: ['tests/**', '*.lock']
---

Do the work.
`;

/** A loop of session-1 that protects a tree of tests and lock files; src/ is the agent's work. */
export function aProtectedLoop(t: TestContext, task = TASK): Project {
  const project = aProject(t, task);
  const { directory } = project;
  for (let nth = 0; nth < 60; nth += 1) {
    const folder = ['', 'unit/', 'unit/deep/', 'e2e/', 'e2e/a/b/'][nth % 5];
    put(join(directory, 'tests', `${folder}file-${nth}.ts`), `test ${nth}\n`.repeat(1 + (nth % 7)));
  }
  chmodSync(join(directory, 'tests', 'file-0.ts'), 0o755);
  symlinkSync('../src/work.ts', join(directory, 'tests', 'link.ts'));
  put(join(directory, 'deps.lock'), 'locked\n');
  put(join(directory, 'src', 'work.ts'), 'work\n');
  start(project, true);
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

/** Type, permissions and content of everything below a folder, by relative path. */
export function treeOf(folder: string): Record<string, string> {
  const tree: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, entry);
    const stat = lstatSync(path);
    if (stat.isSymbolicLink()) tree[entry] = `link ${readlinkSync(path)}`;
    else if (stat.isFile()) tree[entry] = `${(stat.mode & 0o7777).toString(8)} ${readFileSync(path, 'utf8')}`;
  }
  return tree;
}

export function noticesIn({ files }: Project): LoopNotice[] {
  return readNotices(files);
}
