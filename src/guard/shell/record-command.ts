import type { Call } from './call.ts';
import type { ShellCommand } from './shell-reading.ts';
import type { Walk } from './walk.ts';
import { literalOrNull } from './walk.ts';

/** Adds a simple command to the reading, once for each way it may run. */
export function recordCommand(call: Call, name: string, walk: Walk): ShellCommand {
  const command = commandOf(call, name, walk);
  record(command, 'commands', walk);
  return command;
}

/** The same for one that is looked through, or that only changes the shell. */
export function recordOpened(call: Call, name: string, walk: Walk): void {
  record({ ...commandOf(call, name, walk), opened: true }, 'opened', walk);
}

function commandOf(call: Call, name: string, walk: Walk): ShellCommand {
  const { words, world, assignments } = call;
  return {
    name,
    path: words[0]?.template ?? '',
    argv: words,
    via: walk.via,
    assignments: assignments.map((each) => ({
      name: each.name,
      value: literalOrNull(each.words.map((word) => word.template).join(' ')),
    })),
    cwd: literalOrNull(world.cwd),
    cwdTemplate: world.cwd,
    stdinFrom: call.stdin.kind,
    source: call.source,
    position: walk.position ?? call.position,
  };
}

function record(command: ShellCommand, list: 'commands' | 'opened', { facts }: Walk): void {
  facts.element.push(command);
  const { argv, position, via, cwdTemplate, assignments } = command;
  const shown = argv.map((word) => word.pattern ?? word.template);
  const key = JSON.stringify([list, position, via, cwdTemplate, shown, assignments]);
  if (facts.seen.has(key)) return;
  facts.seen.add(key);
  facts[list].push(command);
}
