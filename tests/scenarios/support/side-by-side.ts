import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { commitFolder } from '../../support/git.ts';
import { type Answer, type Project, project } from '../../support/project.ts';
import { MAIN } from './command-agent.ts';

/** The agent notes when it starts and ends, waits until `$AT_ONCE` agents have met, and commits a file of its own. */
const AGENT = `#!/bin/sh
cat > /dev/null
name=$(basename "$PWD")
echo "+$name" >> "$NOTES/log"
touch "$NOTES/here.$name"
while [ "$(ls "$NOTES" | grep -c '^here')" -lt "\${AT_ONCE:-1}" ] && [ ! -e "$NOTES/free" ]; do sleep 0.1; done
. ./work.sh
echo "-$name" >> "$NOTES/log"
rm -f "$NOTES/here.$name"; touch "$NOTES/free"
echo "<promise>DONE</promise>"
`;
export const OWN_FILE = 'echo "$name" > "$name.txt"; git add "$name.txt"; git commit -qm "Add $name"\n';

/** A repository with these task folders, and what the agent does in each of them. */
export function repository(
  t: TestContext,
  names: readonly string[],
  work = OWN_FILE,
  keys = 'max_iterations: 3',
): Project {
  const p = project(t);
  for (const name of names) {
    const gate = 'completion_promise: DONE\ncompletion_gate: disabled';
    p.write(`jobs/${name}/RALPH.md`, `---\n${keys}\n${gate}\n---\nDo ${name}.\n`);
  }
  p.write('agent.sh', AGENT, 0o755);
  p.write('work.sh', work);
  p.write('../notes/log', '');
  commitFolder(p.dir);
  return p;
}

export function git(p: Project, command: string): string {
  const { code, stdout, stderr } = p.sh(`git ${command}`);
  assert.equal(code, 0, `${command}: ${stderr}`);
  return stdout.trim();
}

export const notes = (p: Project): string => join(p.dir, '..', 'notes');
export const log = (p: Project): string[] =>
  readFileSync(join(notes(p), 'log'), 'utf8')
    .split('\n')
    .filter(Boolean);
export const agents = (p: Project, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  NOTES: notes(p),
  ...more,
});
export const jobs = (names: readonly string[]): string[] => names.map((name) => `jobs/${name}`);

export function run(p: Project, words: readonly string[], env: NodeJS.ProcessEnv = {}): Answer {
  return p.ralph(['run', ...words, '--agent', './agent.sh'], agents(p, env));
}

/** The largest number of agents that were at work at once. */
export function mostAtOnce(lines: readonly string[]): number {
  let [now, most] = [0, 0];
  for (const line of lines) {
    now += line.startsWith('+') ? 1 : -1;
    most = Math.max(most, now);
  }
  return most;
}

export interface BatchEnd {
  readonly type: string;
  readonly code: number;
  readonly tasks: {
    readonly loop: string;
    readonly status: string;
    readonly code: number;
    readonly iterations: number;
    readonly step: string;
    readonly message: string;
    readonly problem: string | null;
    readonly commit: string | null;
  }[];
}

export function batchEnd({ stdout }: Answer): BatchEnd {
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as BatchEnd;
}

/** Starts the program and returns at once. */
export function begun(p: Project, words: readonly string[]) {
  const child = spawn(process.execPath, [MAIN, ...words], { cwd: p.dir, env: { ...p.env, ...agents(p) } });
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  const over = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, said: () => said, over };
}
