import assert from 'node:assert/strict';
import type { EnvironmentChanges } from '../client/client-environment.ts';
import { inLoopProject, type LoopProject, type LoopProjectOptions, launcherFile } from '../client/loop-project.ts';
import type { JsonObject, Workspace } from '../client/workspace.ts';
import type { Script, ScriptedModel } from '../model/scripted-model.ts';
import { until } from '../until.ts';
import { startTerminal, type Terminal } from './terminal.ts';

/** A state file as the tests of the terminal read it. */
export type LoopView = JsonObject & {
  readonly status: string;
  readonly iteration: number;
  readonly idleIterations: number;
  readonly loopId: string;
  readonly sessionId: string | null;
  readonly clientPid: number;
  readonly turn: string;
  readonly paused?: { readonly reason: string; readonly message: string; readonly resumesAt: string | null };
  readonly ended?: { readonly as: string; readonly message: string };
  readonly waiting?: { readonly since: string; readonly until: string };
  readonly usage: { readonly costUsd: number | null };
};

export type TerminalLoop = {
  readonly project: LoopProject;
  readonly workspace: Workspace;
  readonly model: ScriptedModel;
  /** The project's launcher in a terminal of its own, closed with the test. */
  readonly launch: (...args: readonly string[]) => Promise<Terminal>;
  /** Any program of the user's in a terminal of its own, in the project. */
  readonly open: (
    command: string,
    args: readonly string[],
    env?: EnvironmentChanges,
    size?: readonly [columns: number, rows: number],
  ) => Promise<Terminal>;
  /** The live loop; undefined where there is none. */
  readonly state: () => LoopView | undefined;
  readonly waitForState: (what: string, wanted: (state: LoopView) => boolean) => Promise<LoopView>;
  /** Presses Esc while the client shows that its Stop hook works, and waits until the loop is paused. */
  readonly interruptHook: (terminal: Terminal) => Promise<LoopView>;
  /** Waits until the live loop is gone into the archive, and gives the newest archived one. */
  readonly waitForEnd: () => Promise<LoopView>;
  /** A command of the user's that has to succeed, from outside the client. */
  readonly main: (...args: readonly string[]) => string;
};

export const complete = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
export const idle = '<!-- ralph:state idle -->';

export type TerminalLoopOptions = LoopProjectOptions & {
  readonly env?: EnvironmentChanges;
};

/** A project with a loop's task in it, for the real client in a terminal; everything it started ends with it. */
export const inTerminal = async (
  options: TerminalLoopOptions,
  script: Script | ((workspace: Workspace) => Script),
  body: (loop: TerminalLoop) => Promise<void>,
): Promise<void> => {
  const terminals: Terminal[] = [];
  await inLoopProject(options, script, async (project) => {
    try {
      await body(terminalLoop(project, options.env ?? {}, terminals));
      project.model.check();
    } catch (error) {
      throw await withScreens(error, terminals, project);
    } finally {
      for (const terminal of terminals) await terminal.close();
    }
  });
};

const terminalLoop = (project: LoopProject, basis: EnvironmentChanges, terminals: Terminal[]): TerminalLoop => {
  const { workspace, model } = project;
  // The client redraws: what has left the screen is not in the scroll-back either. Wide, so that no message is cut.
  const open: TerminalLoop['open'] = async (command, args, env = {}, [columns, rows] = [240, 120]) => {
    const terminal = await startTerminal({
      command,
      args,
      env: project.environment({ ...basis, ...env }),
      cwd: workspace.project,
      columns,
      rows,
    });
    terminals.push(terminal);
    return terminal;
  };
  const state = (): LoopView | undefined => {
    try {
      return (project.state() as LoopView | null) ?? undefined;
    } catch {
      return undefined; // archived between the look and the reading
    }
  };
  const seen = (): string => JSON.stringify(state() ?? project.archive().at(-1)?.state);
  const waitForState: TerminalLoop['waitForState'] = async (what, wanted) => {
    const found = (): LoopView | undefined => [state()].find((now) => now !== undefined && wanted(now));
    return until(what, found).catch((error: Error) => assert.fail(`${error.message}\nthe state is ${seen()}`));
  };
  const interruptHook: TerminalLoop['interruptHook'] = async (terminal) => {
    await terminal.waitFor('the loop decides');
    await terminal.key('Escape');
    return waitForState('the pause', ({ status }) => status === 'paused');
  };
  return {
    project,
    workspace,
    model,
    open,
    interruptHook,
    launch: (...args) => open(workspace.path(launcherFile), ['--permission-mode', 'bypassPermissions', ...args]),
    state,
    waitForState,
    waitForEnd: () =>
      until('the end of the loop', () => (state() === undefined ? project.archive().at(-1) : undefined))
        .then((last) => last.state as LoopView)
        .catch((error: Error) => assert.fail(`${error.message}\nthe state is ${seen()}`)),
    main: (...args) => {
      const { code, stdout, stderr } = project.main(args, basis);
      assert.equal(code, 0, `ralph-loop ${args.join(' ')}: ${stdout}${stderr}`);
      return stdout;
    },
  };
};

/** What the person at the terminal saw, and what the model was told: without them a failure says little. */
const withScreens = async (
  error: unknown,
  terminals: readonly Terminal[],
  { model }: LoopProject,
): Promise<unknown> => {
  if (!(error instanceof Error)) return error;
  const screens = await Promise.all(terminals.map((terminal) => terminal.screen().catch(() => '(closed)')));
  const asked = model.mainRequests().map((request) => `… ${request.sinceText.slice(-400)}`);
  const more = `\n=== screens ===\n${screens.join('\n---\n')}\n=== asked of the model ===\n${asked.join('\n---\n')}`;
  error.message += more;
  // The reporter shows the stack, which holds the message as it was.
  if (error.stack !== undefined) error.stack += more;
  return error;
};
