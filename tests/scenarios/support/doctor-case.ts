import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fakeClient } from '../../support/fake-client.ts';
import { type Answer, type Project, project } from '../../support/project.ts';
import { someOf } from '../../support/short-form.ts';

export const SETTINGS = '.claude/settings.json';
export const STATE = '.claude/context/runtime/ralph-state.json';
export const PROMPT = '---\nvalidation:\n  - "true"\n---\n# Task\n\nMake it work.\n';

export interface Finding {
  readonly check: string;
  readonly level: string;
  readonly message: string;
  readonly fix: string | null;
  readonly fixable: boolean;
}

/** A healthy project with one thing wrong, and what doctor has to say about it. */
export interface DoctorCase {
  readonly when: string;
  /** Breaks something; may give variables for the environment. */
  readonly mutate: (p: Project, env: NodeJS.ProcessEnv) => unknown;
  readonly check: string;
  readonly level: 'warning' | 'error';
  readonly message: RegExp;
  /** What it says to do, where that matters. */
  readonly fix?: RegExp;
  /** Whether `--fix` makes the finding go away. */
  readonly fixed?: boolean;
}

/** A project in which a loop would run: set up, trusted, with a task and a client. */
export function healthyProject(context: TestContext): { p: Project; env: NodeJS.ProcessEnv } {
  const p = project(context);
  p.ralph(['init']);
  p.write('.claude/ralph/PROMPT.md', PROMPT);
  p.write('../home/.claude.json', { projects: { [p.dir]: { hasTrustDialogAccepted: true } } });
  return { p, env: fakeClient(p) };
}

export function findings(answer: Answer): Finding[] {
  return answer.json['findings'] as Finding[];
}

/** What stands in a settings file under `hooks`, as far as a test changes it. */
export interface Settings {
  disableAllHooks?: boolean;
  env?: Record<string, string>;
  hooks?: Record<string, { hooks: { type: string; command: string; timeout?: number }[] }[]>;
}

export function changeSettings(p: Project, change: (settings: Settings) => unknown, path = SETTINGS): void {
  const settings = (p.has(path) ? JSON.parse(p.read(path)) : {}) as Settings;
  change(settings);
  p.write(path, settings);
}

/** The one entry of our Stop hook. */
export function stopHook(settings: Settings): { command: string; timeout?: number } {
  const entry = settings.hooks?.['Stop']?.[0]?.hooks[0];
  assert.ok(entry);
  return entry;
}

/** One test a case: doctor finds it, says what to do, and `--fix` mends it or leaves it. */
export function doctorFinds(cases: readonly DoctorCase[]): void {
  for (const { when, mutate, check, level, message, fix, fixed = false } of someOf(cases, 4)) {
    test(`doctor finds that ${when}`, (t) => {
      const { p, env } = healthyProject(t);
      const changed = mutate(p, env);
      const more = { ...env, ...(typeof changed === 'object' ? changed : {}) };
      const matching = (answer: Answer): Finding[] =>
        findings(answer).filter((one) => one.check === check && one.level === level && message.test(one.message));
      // Where nothing is mended, the answer of `--fix` has the finding as well: one run shows both.
      const answer = p.ralph(['doctor', ...(fixed ? [] : ['--fix']), '--json'], more);
      const [found, another] = matching(answer);
      assert.ok(
        found && !another,
        JSON.stringify(
          findings(answer).filter((one) => one.level !== 'ok'),
          null,
          1,
        ),
      );
      assert.ok(level === 'warning' || found.fix, 'an error says what to do');
      if (fix !== undefined) assert.match(found.fix ?? '', fix);
      if (level === 'error') assert.equal(answer.code, 1);
      if (!fixed) return;
      const after = p.ralph(['doctor', '--fix', '--json'], more);
      assert.equal(matching(after).length, 0, '--fix mends it');
      assert.ok((after.json['fixed'] as string[]).length > 0);
    });
  }
}
