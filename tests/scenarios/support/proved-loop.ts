import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { parseOptions } from '../../../src/cli/command.ts';
import { VERIFY_COMMAND } from '../../../src/cli/show/verify.ts';
import { whole } from '../../../src/drive/status/proof-record.ts';
import type { ProofRecord } from '../../../src/engine/schema/proof.ts';
import { loopFiles } from '../../../src/state/loop-files.ts';
import { painter } from '../../../src/term/format.ts';
import { commitFolder, type Git } from '../../support/git.ts';
import { keptProject } from '../../support/kept-project.ts';
import { type Project, project } from '../../support/project.ts';
import { agent } from './command-agent.ts';

export const PROOF = '.ralph/fix/proof.json';
export const TASK = `---
completion_promise: DONE
open_questions: optional
validation:
  - name: made
    run: grep -q done made.txt
---
Make the file.
`;

interface Ran {
  readonly p: Project;
  readonly git: Git;
}

/** A loop in `.ralph/fix` that an honest agent completes with a commit, after `before` has added to the project. */
export function complete(t: TestContext, before: (p: Project) => void = () => undefined): Ran {
  const p = project(t);
  before(p);
  p.write('.ralph/fix/RALPH.md', TASK);
  p.write('.gitignore', 'runs.txt\nagent.sh\n');
  const command = agent(
    p,
    'echo done > made.txt; git add made.txt; git commit -qm Make\necho "<promise>DONE</promise>"',
  );
  const git = commitFolder(p.dir);
  const { code, stdout, stderr } = p.ralph(['run', 'fix', '--plain', '--agent', command]);
  assert.equal(code, 0, stdout + stderr);
  return { p, git };
}

const nothing = (): void => undefined;

/** One completed loop for all tests of a process, by what was added to its project. */
export const completed = (before: (p: Project) => void = nothing): Ran =>
  keptProject(before, (atExit) => complete(atExit, before));

export const record = (p: Project): ProofRecord => JSON.parse(p.read(PROOF)) as ProofRecord;

/** A project, and the folder in which `verify` works where that is another one. */
export type Place = Project & { readonly place?: string };

/** What `verify` finds to differ, by subject. The command runs in the process of the test: the program has tests of its own. */
export async function differences(p: Place, ...words: string[]): Promise<Record<string, string>> {
  const projectDir = join(p.dir, p.place ?? '');
  const { values, positionals, problem } = parseOptions(VERIFY_COMMAND, words);
  assert.equal(problem, null);
  const proof = typeof values['proof'] === 'string' ? { proof: join(p.dir, values['proof']) } : {};
  const said: { findings?: { what: string; ok: boolean; text: string }[]; verified?: boolean } = {};
  const nothing = (): void => undefined;
  const code = await VERIFY_COMMAND.run({
    ...{ values: { ...values, ...proof }, positionals, rest: [], env: p.env, projectDir },
    ...{ files: loopFiles(projectDir, null, p.env), forPeople: false, atTerminal: false, mayAsk: false },
    ...{ paint: painter(false, p.env), now: () => new Date().toISOString(), out: nothing, err: nothing, json: nothing },
    answer: (data) => void Object.assign(said, data),
  });
  const differ = said.findings?.filter(({ ok }) => !ok).map(({ what, text }) => [what, text]);
  assert.ok(differ);
  assert.equal(code, differ.length === 0 ? 0 : 1);
  assert.equal(said.verified, differ.length === 0);
  return Object.fromEntries(differ);
}

/** Writes the record with a change, and with a digest that fits. */
export function forge(p: Project, change: Partial<ProofRecord>): void {
  const { digest: _, ...rest } = record(p);
  p.write(PROOF, JSON.stringify(whole({ ...rest, ...change })));
}

/** A clone on another machine with the proof; `verify` runs in it. */
export function cloned(t: TestContext, p: Project, ...words: string[]): { readonly there: Place; readonly at: string } {
  const machine = project(t);
  spawnSync('git', ['clone', '-q', ...words, `file://${p.dir}`, join(machine.dir, 'clone')]);
  const at = `clone/${PROOF}`;
  machine.write(at, p.read(PROOF));
  const ralph: Project['ralph'] = (given) => machine.ralph([...given, '--project', 'clone']);
  return { there: { ...machine, ralph, place: 'clone' }, at };
}
