import { posix } from 'node:path';
import type { PathUse, ShellCommand, ShellReading } from './shell/shell-reading.ts';
import { basenameOf } from './shell/shells.ts';
import { wordOf } from './shell/word-builder.ts';

/** Words of one text that are taken for paths. */
const MAX_WORDS = 500;
/** With one of these it is more than plain commands: variables, blocks, calls, code that is run. */
const MORE = /[$&(){}@]|\b(iex|invoke-expression|invoke-command|-enc\w*|add-type|start-process)\b/i;

/**
 * What a PowerShell text says when it is taken apart at its operators, without a parser: every word of it may be a path
 * that is read, and with `writes` one that is removed with all below it. `text` is without quotes and escapes.
 */
export function readPowerShell(text: string, cwd: string, writes: boolean): ShellReading {
  const lines = text.split(/&&|\|\||[;\n]/).map((line) =>
    line
      .split('|')
      .map((piece) => commandOf(piece, cwd))
      .filter((command) => command !== null),
  );
  const commands = lines.flat();
  const words = commands.flatMap(({ argv }) => argv).slice(0, MAX_WORDS);
  const uses = words.filter((word) => !word.template.startsWith('-')).map((word) => useOf(word.template, cwd));
  return {
    commands,
    opened: [],
    pipelines: lines.filter((line) => line.length > 1).map((line) => line.map((command) => [command])),
    writes: writes ? uses.map((use) => ({ ...use, how: 'delete' as const, recursive: true as const })) : [],
    reads: uses,
    undecidable: MORE.test(text) ? [{ kind: 'powershell', text, position: 0, cwd }] : [],
  };
}

function commandOf(piece: string, cwd: string): ShellCommand | null {
  const words = piece.split(/[\s,<>]+/).filter((word) => word !== '');
  const [first] = words;
  if (first === undefined) return null;
  return {
    name: basenameOf(first),
    path: first,
    argv: words.map((word) => wordOf(word)),
    via: [],
    assignments: [],
    cwd,
    cwdTemplate: cwd,
    stdinFrom: 'none',
    source: piece,
    position: 0,
  };
}

function useOf(path: string, cwd: string): PathUse {
  const word = wordOf(posix.normalize(path));
  return { target: word.text, word, cwd, cwdTemplate: cwd, by: 'PowerShell', how: 'read', position: 0 };
}
