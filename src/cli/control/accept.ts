import { acceptContract, changedContract } from '../../drive/start/live/accept-contract.ts';
import { readState } from '../../state/loop-files.ts';
import { askInPerson } from '../ask.ts';
import { chosenLoop, noLoop } from '../choose-loop.ts';
import type { Command } from '../command.ts';
import { WHICH_LOOP } from './operator-commands.ts';

export const ACCEPT_COMMAND: Command = {
  name: 'accept',
  usage: '[NAME | PATH] [--loop NAME]',
  help: `Shows at your terminal what has changed in the frontmatter of the loop's task file and in the scripts of its checks since the start, and updates the contract when you type yes; every report of the loop names the change. An agent cannot answer for you, but a program with your rights can imitate a person at a terminal. ${WHICH_LOOP}`,
  example: 'ralph-loop accept tasks/docs',
  control: true,
  run(context) {
    const { env, now, answer } = context;
    const files = chosenLoop(context, 'accept');
    if (readState(files.state).kind === 'absent') noLoop('there is no live loop here.');
    const changed = changedContract(files, env);
    const { changes } = changed;
    const lines = changes.map((line) => `  ${line}`);
    if (changes.length > 0) {
      const question = 'Adopt these changes?';
      const heading = 'Changed since the loop started:';
      const asked = { command: 'accept', heading, lines, question, declined: 'nothing was adopted.' };
      const person = askInPerson(files, asked);
      acceptContract(files, env, now(), changed, person);
    }
    const message = changes.length === 0 ? 'Nothing had changed.' : ['Adopted:', ...lines].join('\n');
    answer({ success: true, message, changes }, () => message);
    return 0;
  },
};
