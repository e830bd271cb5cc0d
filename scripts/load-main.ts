import { existsSync } from 'node:fs';
import { outsideRoot } from '../src/state/loop-files.ts';
import { loadPart } from '../src/state/process/code-cache.ts';

/** What the build knows: the words that name a command. */
declare const COMMAND_NAMES: readonly string[];

/** They all show the list of commands, which loads each of them. */
const HELP = ['--help', '-h', 'help'];

const [word = ''] = process.argv.slice(2);
const name = HELP.includes(word) ? 'help' : word;
loadPart('ralph-main.cjs', {
  use: name === 'help' || COMMAND_NAMES.includes(name) ? `-${name}` : '',
  // On a machine that never had a loop, asking for help leaves nothing behind.
  keeps: existsSync(outsideRoot(process.env)),
});
