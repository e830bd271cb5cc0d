import type { Call } from './call.ts';
import type { ShellCommand } from './shell-reading.ts';
import type { Walk } from './walk.ts';
import { literalOrNull } from './walk.ts';

/** Adds a simple command to the reading, once for each way it may run. */
export function recordCommand(call: Call, name: string, walk: Walk): ShellCommand {
  const { words, world, assignments } = call;
  const command: ShellCommand = {
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
  const shown = words.map((word) => word.pattern ?? word.template);
  const key = JSON.stringify(['command', command.position, command.via, world.cwd, shown, command.assignments]);
  if (!walk.facts.seen.has(key)) {
    walk.facts.seen.add(key);
    walk.facts.commands.push(command);
  }
  return command;
}
