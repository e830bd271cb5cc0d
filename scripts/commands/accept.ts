import { acceptContract } from '../../src/drive/accept-contract.ts';
import type { Command } from './command.ts';

export const ACCEPT_COMMAND: Command = {
  name: 'accept',
  summary: 'Adopt a changed frontmatter or a changed script into the running loop.',
  usage: '',
  help: "A loop runs under the contract that was fixed when it started. Its task file's frontmatter, or a script that its checks name, may change meanwhile; neither is adopted by itself. This reads both again, shows what changes, and makes it the contract.",
  options: {},
  control: true,
  run({ files, env, now, forPeople, out }) {
    const { changes } = acceptContract(files, env, now());
    const message =
      changes.length === 0 ? 'Nothing had changed.' : `Adopted:\n${changes.map((line) => `- ${line}`).join('\n')}`;
    out(forPeople ? message : JSON.stringify({ success: true, message, changes }));
    return 0;
  },
};
