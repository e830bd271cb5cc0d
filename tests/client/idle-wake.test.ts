import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inLoopProject, type LoopProject, promptFile } from '../support/client/loop-project.ts';
import { startRunner } from '../support/client/runner.ts';
import type { JsonObject } from '../support/client/workspace.ts';
import { bash, steps, text } from '../support/model/scripted-model.ts';
import { IS_LONG, someOf } from '../support/short-form.ts';
import { until } from '../support/until.ts';

const idle = text('Nothing to do.\n\n<!-- ralph:state idle -->');
const COMMAND = 'commands: [{name: inbox, run: cat inbox.txt}]';
const KINDS = {
  prompt: { path: promptFile, name: null },
  findings: { path: promptFile, name: null },
  folder: { path: 'tasks/post/RALPH.md', name: 'post' },
  checklist: { path: '.ralph/post/task.md', name: 'post' },
} as const;

interface Case {
  readonly driver: 'session' | 'runner';
  readonly kind: keyof typeof KINDS;
  readonly commands: boolean;
  readonly watch: boolean;
  readonly git?: boolean;
  readonly standIn: boolean;
}

const windowOf = (project: LoopProject): unknown => {
  const state = project.state();
  return state?.['status'] === 'waiting' ? (state['waiting'] as JsonObject)['until'] : undefined;
};

/** Runs a loop whose agent is idle at once, waits for three looks, changes what is watched, and lets the agent finish. */
async function wakesOnlyOnChange({ driver, kind, commands, watch, git = false, standIn }: Case): Promise<void> {
  const { path, name } = KINDS[kind];
  const globs = watch ? ', watch: ["post/**"]' : '';
  const frontmatter = [
    ...(commands ? [COMMAND] : []),
    `idle: {delay: 300ms, max_delay: 300ms, max: 1h, wake: change${globs}}`,
    'max_iterations: 2',
    'completion_promise: DONE',
    'completion_gate: optional',
  ];
  const task = `---\n${frontmatter.join('\n')}\n---\nRead the post.\n\n- [ ] Read it\n`;
  const log: Readonly<Record<string, string>> =
    kind === 'findings' ? { '.ralph/findings.md': '### FINDING-001: a typo\n\n- Status: FIXED (it is gone)\n' } : {};
  const files = { ...log, [path]: task, 'inbox.txt': 'nothing\n', 'post/old.txt': 'old\n' };
  const claim = text('Read.\n\n<promise>DONE</promise>');
  const work = kind === 'checklist' ? [bash(`sed -i 's/\\[ \\]/[x]/' ${path}`), claim] : [claim];
  const script = steps([idle, ...work]);
  const options = { standIn, files, git, ...(name === null ? {} : { loop: name }) };
  await inLoopProject(options, script, async (project) => {
    const task = path.replace(/\/(?:RALPH|task)\.md$/, '');
    const named = name === null ? [] : driver === 'session' ? ['--task', task] : [task];
    const running = driver === 'session' ? project.start({ args: named }) : startRunner(project, { args: named });
    const windows = new Set<unknown>();
    await until('it has looked three times', () => {
      const until = windowOf(project);
      if (until !== undefined) windows.add(until);
      return windows.size >= 4;
    });
    assert.equal(project.model.mainRequests().length, 1, 'no model call while nothing changed');
    if (commands) project.workspace.write('inbox.txt', 'news of the day\n');
    else if (watch) project.workspace.write('post/new.txt', 'news\n');
    else project.workspace.write(path, `${project.workspace.read(path)}\nThere is news.\n`);
    const { code } = await running.done;
    assert.equal(project.model.mainRequests().length, 1 + work.length);
    assert.ok(code === 0 || code === 2, `the loop ended with ${code}`);
    const why = project.events('idle.ended').map((event) => event['why']);
    assert.deepEqual(why, ['something changed']);
  });
}

const BOTH = [true, false];

describe('an idle loop that wakes on change calls no model until something changes', { concurrency: 2 }, () => {
  const cases = (['session', 'runner'] as const).flatMap((driver) =>
    (['prompt', 'folder', 'checklist', 'findings'] as const).flatMap((kind) =>
      BOTH.flatMap((commands) => BOTH.map((watch) => ({ driver, kind, commands, watch }))),
    ),
  );
  // With the real client's case below, the short form has every value of each, and every pair of driver and commands.
  // The long form is the real client's.
  for (const { driver, kind, commands, watch } of someOf(cases, 7, 6)) {
    const what = `${driver}, ${kind}, ${commands ? '' : 'no '}commands, ${watch ? '' : 'no '}watch`;
    test(what, () => wakesOnlyOnChange({ driver, kind, commands, watch, standIn: !IS_LONG }));
  }
  for (const git of someOf(BOTH, 2))
    test(`the real client in a session, prompt file with commands, ${git ? 'with' : 'without'} git`, () =>
      wakesOnlyOnChange({ driver: 'session', kind: 'prompt', commands: true, watch: false, git, standIn: false }));
});
