import { acceptContract, changedContract } from '../../drive/start/consent.ts';
import { chosenLoop } from '../choose-loop.ts';
import { type Command, options } from '../command.ts';
import { approves } from '../start/approve.ts';
import { WHICH_LOOP } from './operator-commands.ts';

export const ACCEPT_COMMAND: Command = {
  name: 'accept',
  summary: 'Adopt changes of the task file or scripts into a loop.',
  usage: '[PATH] [--loop NAME] [--yes]',
  help: `Shows what has changed since the loop started in the frontmatter of its task file and in the scripts of its checks, asks, and updates the contract. A running loop does not adopt such changes by itself. ${WHICH_LOOP}`,
  example: 'ralph-loop accept tasks/docs',
  options: options({ yes: 'Answer all questions with yes.' }),
  control: true,
  async run(context) {
    const { env, now, answer } = context;
    const files = chosenLoop(context, 'accept');
    const { changes, terms } = changedContract(files, env);
    const lines = changes.map((line) => `- ${line}`);
    if (changes.length > 0) {
      if (!(await approves(context, 'Changed since the loop started:', lines, 'Adopt these changes?'))) {
        context.err('ralph-loop: nothing was adopted.');
        return 1;
      }
      acceptContract(files, env, now(), terms);
    }
    const message = changes.length === 0 ? 'Nothing had changed.' : ['Adopted:', ...lines].join('\n');
    answer({ success: true, message, changes }, () => message);
    return 0;
  },
};
