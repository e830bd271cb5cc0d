import { realpathSync } from 'node:fs';
import type { StartedLoop } from '../../drive/start/stages.ts';
import { hostOf } from '../../hosts/hosts.ts';
import { programName } from '../../state/process/program.ts';
import { commandLine } from '../../text/message.ts';
import type { CommandContext } from '../command.ts';

/** Says what starts or approves the loop that is ready now. Returns the exit code. */
export function answerStart(context: CommandContext, loop: StartedLoop, byAgent: boolean): number {
  const { loopId, files, state } = loop;
  const { status, maxIterations, taskPath, mode } = state;
  const { contract, name } = files;
  const consent = byAgent ? commandFor('consent', loop) : null;
  context.answer({ success: true, loopId, name, mode, status, maxIterations, taskPath, contract, consent }, () => {
    if (consent !== null) return `The loop awaits the user's consent. Agree in a terminal: ${consent}`;
    const next = mode === 'runner' ? `Run it: ${commandFor('resume', loop)}` : byHand(loop);
    return `The loop ${name ?? loopId} is ready.\n${next}`;
  });
  return 0;
}

function commandFor(command: 'consent' | 'resume', { files, state }: StartedLoop): string {
  return commandLine({ command }, { name: files.name, mode: state.mode, program: programName() });
}

function byHand({ loopId, files: { name, projectDir }, stored }: StartedLoop): string {
  const [variables, program] = hostOf(stored.contract.host).byHand;
  return [
    'Start the client for it, or run the same command with --launch, which does all of this:',
    ...(process.cwd() === realpathSync(projectDir) ? [] : [`  cd '${projectDir.replaceAll("'", "'\\''")}'`]),
    `  export ${variables}`,
    `  export RALPH_LOOP_ID=${loopId}${name === null ? '' : ` RALPH_LOOP=${name}`}`,
    `  ${program}`,
  ].join('\n');
}
