import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Run } from '../../src/engine/schema/batch.ts';
import { commitFolder } from './git.ts';
import { type Answer, type Project, project } from './project.ts';

/** A repository on the branch `work` whose plan is worked on by agents that note when they begin and end. */
export interface PlanProject extends Project {
  readonly git: (command: string) => string;
  readonly run: (words: readonly string[], env?: NodeJS.ProcessEnv) => Answer;
  readonly env: NodeJS.ProcessEnv;
  /** `+ID` and `-ID` of each agent run, in order. */
  readonly log: () => string[];
  /** Prompts that the agents of a task were given, in order. */
  readonly prompts: (id: number) => string[];
}

export interface TaskLine {
  readonly id: number;
  readonly scope?: string;
  readonly needs?: readonly number[];
}

export function planText(tasks: readonly TaskLine[], validation = 'sh check.sh'): string {
  const lines = tasks.flatMap(({ id, scope = `work/${id}`, needs = [] }) => [
    `- [ ] **Task ${id}: Make ${id}**`,
    ...(scope === '' ? [] : [`  - Scope: \`${scope}\``]),
    ...(needs.length === 0 ? [] : [`  - Depends on: ${needs.map((need) => `Task ${need}`).join(', ')}`]),
    '  - Acceptance: it is there',
  ]);
  return ['---', `validation: ['${validation}']`, '---', '# Plan', '', ...lines, ''].join('\n');
}

/** `$id`, `$run` (from 1) and `$NOTES` are set where the work is done, in the folder of the task's project. */
const AGENT = `#!/bin/sh
prompt=$(cat)
id=$(printf '%s\\n' "$prompt" | sed -n 's/^Current task: Task \\([0-9]*\\),.*/\\1/p' | head -1)
echo "+$id" >> "$NOTES/log"
run=$(($(ls "$NOTES" | grep -c "^prompt-$id-") + 1))
printf '%s\\n' "$prompt" > "$NOTES/prompt-$id-$run"
. "$MAIN_DIR/work.sh"
echo "-$id" >> "$NOTES/log"
echo "Summary: made $id."
`;

/** What each task makes: a file with what its predecessors made. */
export const MAKES = `mkdir -p work/$id
needs=$(sed -n "/\\*\\*Task $id:/,/Acceptance/s/.*Depends on: //p" PLAN.md | tr -d ',' | sed 's/Task //g')
for need in $needs; do cat work/$need/made || exit 1; done > work/$id/made
echo "$id" >> work/$id/made
`;

/** Green if exactly the ticked tasks are made, apart from the one at work. */
export const CHECK = `for id in $(sed -n 's/^- \\[x\\] \\*\\*Task \\([0-9]*\\):.*/\\1/p' PLAN.md); do
  grep -qx "$id" work/$id/made || exit 1
done
`;

export function planProject(t: TestContext, plan: string, work = MAKES, check = CHECK): PlanProject {
  const p = project(t);
  const notes = join(p.dir, '..', 'notes');
  p.write('PLAN.md', plan);
  p.write('agent.sh', AGENT, 0o755);
  p.write('work.sh', work);
  p.write('check.sh', check);
  p.write('../notes/log', '');
  const env = { ...p.env, NOTES: notes, MAIN_DIR: p.dir };
  const git = (command: string): string => {
    const { code, stdout, stderr } = p.sh(`git ${command}`);
    assert.equal(code, 0, `${command}: ${stderr}`);
    return stdout.trim();
  };
  commitFolder(p.dir, 'work', 'Begin');
  return {
    ...p,
    ...{ git, env },
    run: (words, more = {}) => p.ralph(['run', ...words, '--agent', './agent.sh'], { ...env, ...more }),
    log: () => readFileSync(join(notes, 'log'), 'utf8').split('\n').filter(Boolean),
    prompts: (id) => {
      const found: string[] = [];
      for (let nth = 1; p.has(`../notes/prompt-${id}-${nth}`); nth++)
        found.push(p.read(`../notes/prompt-${id}-${nth}`));
      return found;
    },
  };
}

/** The runs that `list` shows. */
export function listedRuns({ ralph }: Pick<Project, 'ralph'>): readonly Run[] {
  return ralph(['list', '--json']).json['runs'] as Run[];
}
