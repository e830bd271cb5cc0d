import { acceptContract } from '../../drive/start/consent.ts';
import type { Command } from '../command.ts';
import { chosenLoop } from '../live-loops.ts';
import { WHICH_LOOP } from './operator-commands.ts';

export const ACCEPT_COMMAND: Command = {
  name: 'accept',
  summary: 'Adopt a changed frontmatter or a changed script into the running loop.',
  usage: '[PATH] [--loop NAME]',
  help: `A loop runs under the contract that was fixed when it started. Its task file's frontmatter, or a script that its checks name, may change meanwhile; neither is adopted by itself. This reads both again, makes them the contract, and shows what has changed. ${WHICH_LOOP}`,
  options: {},
  control: true,
  run(context) {
    const { env, now, forPeople, out } = context;
    const { changes } = acceptContract(chosenLoop(context, 'accept'), env, now());
    const message =
      changes.length === 0 ? 'Nothing had changed.' : `Adopted:\n${changes.map((line) => `- ${line}`).join('\n')}`;
    out(forPeople ? message : JSON.stringify({ success: true, message, changes }));
    return 0;
  },
};
