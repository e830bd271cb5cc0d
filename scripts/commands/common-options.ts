import type { OptionDefinition } from './command.ts';

/** What every command takes. */
export const COMMON_OPTIONS: Readonly<Record<string, OptionDefinition>> = {
  json: { type: 'boolean', help: 'Answer in JSON, in a terminal too.' },
  loop: {
    type: 'string',
    value: 'NAME',
    help: 'The loop of this name, where the command is about one (or RALPH_LOOP).',
  },
  project: { type: 'string', value: 'DIR', help: 'The project; without it the one around the current directory.' },
  help: { type: 'boolean', short: 'h', help: 'Show this.' },
};
