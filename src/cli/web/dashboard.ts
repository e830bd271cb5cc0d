import { type Command, options } from '../command.ts';
import { noWeb } from './no-web.ts';

export const DASHBOARD_COMMAND: Command = {
  name: 'dashboard',
  summary: 'Watch and steer all loops in the browser.',
  usage: '[--port N] [--open] [--all] [--read-only]',
  help: 'Serves a page on this machine that shows and controls every loop of the project live, until Ctrl+C. Its address ends with a key: anyone who has it can read what your agents did and, without --read-only, steer them. --all shows the loops of all your projects.',
  example: 'ralph-loop dashboard --open',
  options: options({
    'port N': 'Listen on this port; default: any free one.',
    open: 'Open the page in the browser.',
    all: 'Show the loops of all projects of this user.',
    'read-only': 'Show loops without any controls.',
  }),
  control: true,
  async run(context) {
    const { serveUntilSignal } = await import('./serve.ts').catch(noWeb);
    return serveUntilSignal(context);
  },
};
