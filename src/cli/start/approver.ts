import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Approver } from '../../drive/start/approve.ts';
import { firstBaseline } from '../../drive/start/baseline.ts';
import { clientSandboxProblem } from '../../hosts/claude/claude-code.ts';
import { readText } from '../../install/project-files.ts';
import { SANDBOX_TEXTS } from '../../sandbox/messages.ts';
import { modeOf, writeAtomically } from '../../state/files/regular-file.ts';
import { readState } from '../../state/loop-files.ts';
import { withPrefix } from '../../state/process/program.ts';
import { configFiles } from '../../task/task-file.ts';
import { RalphError } from '../../text/message.ts';
import { ask, askInPerson } from '../ask.ts';
import type { CommandContext } from '../command.ts';
import { runFirstChecks } from './first-checks.ts';

/** Returns the user of this command line, who answers at its terminal if it has one. */
export function userOf(context: CommandContext): Approver {
  return {
    now: context.now,
    say: (text) => context.err(withPrefix(text)),
    agree: askInPerson,
    chooseSandbox: () => chooseSandbox(context),
    runChecks: (prepared) =>
      runFirstChecks(context, (options) => firstBaseline(prepared, options), prepared.terms.policy),
  };
}

/** Returns the mode that the user chooses; null if they decline or cannot be asked. Throws `refused` at the end of the input. */
async function chooseSandbox(context: CommandContext): Promise<'on' | 'off' | null> {
  const { mayAsk, values, env, projectDir, err } = context;
  if (!mayAsk || values['yes'] === true || clientSandboxProblem(env, [projectDir]) !== null) return null;
  err(withPrefix(SANDBOX_TEXTS.question));
  let answer: string | undefined;
  do answer = (await ask('Sandbox [Y/n/always/never]: '))?.toLowerCase();
  while (answer !== undefined && !/^(?:y(?:es)?|no?|always|never)?$/.test(answer));
  if (answer === undefined) throw new RalphError('refused', 'Nothing was started.');
  const isOn = ['', 'y', 'yes', 'always'].includes(answer);
  if (answer === 'always' || answer === 'never') remember(configFiles(projectDir, env)['user config'], isOn);
  if (isOn) return 'on';
  return answer === 'never' ? 'off' : null;
}

function remember(path: string, isOn: boolean): void {
  const settings = JSON.parse(readText(path) ?? '{}') as { readonly sandbox?: object };
  const sandbox = { ...settings.sandbox, mode: isOn ? 'on' : 'off' };
  mkdirSync(dirname(path), { recursive: true });
  writeAtomically(path, `${JSON.stringify({ ...settings, sandbox }, null, 2)}\n`, modeOf(path));
}

/** Returns whether the user is at a terminal and has not answered all questions in advance. */
export function asksQuestions({ files, mayAsk, values }: CommandContext): boolean {
  // A start over an existing loop may be refused, which would waste the answer.
  if (values['resume'] === true || readState(files.state).kind !== 'absent') return false;
  return mayAsk && values['yes'] !== true && values['headless'] !== true;
}
