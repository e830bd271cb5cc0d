import { isAbsolute } from 'node:path';
import { comparablePath } from './comparable-path.ts';
import { controlProgramIn } from './control-program.ts';
import type { Guard } from './guard.ts';
import { controlDenied } from './messages.ts';
import { isBelowProject } from './own-files.ts';
import { realPath } from './real-path.ts';
import type { PathUse, ShellCommand, ShellReading } from './shell/shell-reading.ts';
import { isShell, NODE_LIKE } from './shell/shells.ts';

const COPIERS = new Set(['cp', 'mv', 'ln', 'install', 'rsync', 'dd', 'scp', 'ditto', 'tar', 'zip', '7z']);
/** They pass on what they read as it is, or so that it can be turned back. */
const CARRIERS = new Set([
  ...['cat', 'tac', 'dd', 'tee', 'head', 'tail', 'sed', 'awk', 'gawk', 'base64', 'xxd', 'gzip', 'xz', 'zstd', 'bat'],
  ...['sponge', 'cpio', 'openssl', 'nl', '<'],
]);

/** A copy of the control program made elsewhere, or its text handed to an interpreter. Gives the message. */
export function controlCopyDenial(reading: ShellReading, guard: Guard): string | undefined {
  const uses = [
    ...reading.reads,
    ...reading.writes.filter((write) => write.how === 'link-source' || write.how === 'move'),
  ];
  for (const use of uses) {
    const program = programIn(use, guard);
    if (program === undefined) continue;
    const deny = (what: string): string => controlDenied(`${what} ${program}`, guard.rules.agentCommands);
    if (COPIERS.has(use.by)) return deny(`${use.by} would copy`);
    if (NODE_LIKE.has(use.by) && !isArgument(use, reading)) return deny(`${use.by} would run`);
    if (isShell(use.by)) return deny(`${use.by} would run`);
    const carries = CARRIERS.has(use.by);
    if (carries && writesElsewhere(use, reading)) return deny(`${use.by} would copy`);
    if (carries && pipedOn(use, reading)) return deny(`${use.by} would hand on`);
  }
  return undefined;
}

/** The program itself, or a directory with it that is more than "the whole project". */
function programIn(use: PathUse, guard: Guard): string | undefined {
  const direct = controlProgramIn(use.word, use.cwdTemplate, guard);
  if (direct !== undefined) return direct;
  const path = use.word.text;
  if (path === null || !COPIERS.has(use.by) || (!isAbsolute(path) && use.cwd === null)) return undefined;
  if (!isBelowProject(path, use.cwdTemplate, guard)) return undefined;
  const absolute = isAbsolute(path) ? path : `${use.cwdTemplate}/${path}`;
  const forms = [absolute, realPath(absolute)].map((each) => comparablePath(each, guard.rules.caseInsensitive));
  return guard.control.find((program) => forms.some((form) => program.startsWith(`${form}/`)));
}

/** `node main.cjs` reads its script as an argument; that is an invocation, judged as one. */
function isArgument(use: PathUse, reading: ShellReading): boolean {
  return reading.commands.some(
    (command) => command.position === use.position && command.argv.some((word) => word === use.word),
  );
}

function writesElsewhere(use: PathUse, reading: ShellReading): boolean {
  return reading.writes.some(
    (write) =>
      write.by === use.by &&
      (write.how === 'redirect' || write.how === 'argument') &&
      covers(use, write, reading) &&
      write.target !== '/dev/null',
  );
}

function covers(read: PathUse, write: PathUse, reading: ShellReading): boolean {
  const command = reading.commands.find((each) => each.name === read.by && each.argv.includes(read.word));
  if (command === undefined) return true;
  return write.position >= command.position && write.position <= command.position + command.source.length;
}

function pipedOn(use: PathUse, reading: ShellReading): boolean {
  return reading.pipelines.some((all) => {
    const elements = all.map((element) => element.filter((command) => command.opened !== true));
    const from = elements.findIndex((element) =>
      element.some(
        (command) => command.name === use.by && (command.argv.includes(use.word) || use.position === command.position),
      ),
    );
    if (from === -1) return false;
    const later = elements.slice(from + 1).flat();
    const carried = later.every((command) => CARRIERS.has(command.name) || isEnd(command));
    const writes = later.some((command) =>
      reading.writes.some((write) => write.by === command.name && write.position >= command.position),
    );
    return carried && (later.some(isEnd) || writes);
  });
}

function isEnd(command: ShellCommand): boolean {
  return NODE_LIKE.has(command.name) || isShell(command.name);
}
