import assert from 'node:assert/strict';
import { join } from 'node:path';
import { parseOptions } from '../../src/cli/command.ts';
import { ABOUT_A_LOOP, loopName, systemErrorText } from '../../src/cli/command-line.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { refuseAgent } from '../../src/cli/refuse-agent.ts';
import { projectOfLoop } from '../../src/drive/worktree/worktree-place.ts';
import { projectDirOf } from '../../src/install/project-dir.ts';
import { loopFiles } from '../../src/state/loop-files.ts';
import { withPrefix } from '../../src/state/process/program.ts';
import { painter, printable } from '../../src/term/format.ts';
import { RalphError } from '../../src/text/message.ts';
import { type Answer, DIST, type Project } from './project.ts';

/** What the program is told by node: its own place, beside which the parts of the bundle lie. */
Object.assign(globalThis, { __filename: join(DIST, 'scripts', 'main.cjs') });

/** Signals to which a command listens until its process ends. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs a command as `ralph` of the project does, in the process of the test, which costs a tenth: for what a command does
 * and says. What belongs to the program (misused options, standard input, terminals, time zones) needs `ralph`. Tests that call it run
 * one after the other: the process is in the project meanwhile, with its environment.
 */
export async function commandHere(
  p: Project,
  [name = '', ...words]: readonly string[],
  more: NodeJS.ProcessEnv = {},
): Promise<Answer> {
  const command = await COMMANDS[name]?.();
  assert.ok(command, `a command: ${name}`);
  const { values, positionals, rest, problem } = parseOptions(command, words);
  assert.equal(problem, null);
  const outside = { env: { ...process.env }, cwd: process.cwd(), heard: SIGNALS.map((one) => process.listeners(one)) };
  const said = { stdout: '', stderr: '' };
  const say = (stream: keyof typeof said, text: string): void => {
    said[stream] += text.endsWith('\n') ? text : `${text}\n`;
  };
  const forPeople = values['json'] !== true;
  const json = (data: object): void => say('stdout', JSON.stringify(data, null, 2));
  const given = (option: string): string | null => {
    const value = values[option];
    return typeof value === 'string' ? value : null;
  };
  let loop: string | null = null;
  putEnvironment({ ...p.env, ...more });
  process.chdir(p.dir);
  const { env } = process;
  try {
    if (command.control) refuseAgent(name, env);
    const project = projectDirOf({ given: given('project'), env, cwd: process.cwd(), search: name !== 'init' });
    loop = loopName(given('loop') ?? (env['RALPH_LOOP'] || null));
    const projectDir = ABOUT_A_LOOP.has(name) ? projectOfLoop(project, loop, env) : project;
    const code = await command.run({
      ...{ values, positionals, rest, env, projectDir, files: loopFiles(projectDir, loop, env), forPeople, json },
      ...{ atTerminal: false, mayAsk: false, paint: painter(false, env), now: () => new Date().toISOString() },
      out: (text) => say('stdout', text),
      err: (text) => say('stderr', text),
      answer: (data, text) => (forPeople ? say('stdout', text()) : json(data)),
    });
    return answerOf(code, said);
  } catch (error) {
    const known = error instanceof RalphError ? error.advised : systemErrorText(error);
    if (known === null) throw error;
    say('stderr', printable(withPrefix(known, { name: loop, mode: name === 'router' ? 'router' : 'hook' })));
    return answerOf(1, said);
  } finally {
    putEnvironment(outside.env);
    process.chdir(outside.cwd);
    for (const [nth, one] of SIGNALS.entries())
      for (const listener of process.listeners(one))
        if (outside.heard[nth]?.includes(listener) !== true) process.removeListener(one, listener);
  }
}

/** Changes the environment of the process itself: `homedir` and the like do not look at an object put in its place. */
function putEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (env[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
}

const answerOf = (code: number, said: Pick<Answer, 'stdout' | 'stderr'>): Answer => ({
  ...{ code, ...said },
  get json() {
    return JSON.parse(said.stdout) as Record<string, unknown>;
  },
});
