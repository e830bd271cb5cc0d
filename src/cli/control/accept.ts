import { acceptContract, changedContract } from '../../drive/start/consent.ts';
import { chosenLoop } from '../choose-loop.ts';
import { type Command, options } from '../command.ts';
import { approves } from '../start/approve.ts';
import { WHICH_LOOP } from './operator-commands.ts';

export const ACCEPT_COMMAND: Command = {
  name: 'accept',
  summary: 'Adopt a changed frontmatter or a changed script into the running loop.',
  usage: '[PATH] [--loop NAME] [--yes]',
  help: `A loop runs under the contract that was fixed when it started. Its task file's frontmatter, or a script that its checks name, may change meanwhile; neither is adopted by itself. This reads both again, shows what has changed, asks, and makes them the contract. ${WHICH_LOOP}`,
  options: options({ yes: 'Answer the question with yes.' }),
  control: true,
  async run(context) {
    const { env, now, forPeople, out } = context;
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
    out(forPeople ? message : JSON.stringify({ success: true, message, changes }));
    return 0;
  },
};
