import { posix } from 'node:path';
import { evaluateGuardrails } from './evaluate-shell-command.ts';
import { type Denial, deny, type Guard, mentions, type Verdict } from './guard.ts';
import { controlDenied, POWERSHELL_WRITES, unreadableDenied } from './messages.ts';
import { controlCommandDenial, mentionsControl, runsControl } from './own-files/control-commands.ts';
import { hitByName } from './own-files/file-access-hit.ts';
import { shownPath } from './own-files/own-files.ts';
import { emptyReading, type FileAccess, type ShellCommand, type ShellReading } from './shell/shell-reading.ts';
import { basenameOf, wordOf } from './shell/words.ts';

const WRITES =
  /\b(Set-Content|Out-File|Remove-Item|Move-Item|Copy-Item|Add-Content|Clear-Content|New-Item|Rename-Item|Set-Item|Set-Acl|Tee-Object|Export-\w+|Invoke-WebRequest|Expand-Archive|del|erase|rm|rd|rmdir|ri|copy|cp|cpi|move|mv|mi|ren|rni|ni|sc|ac|clc|attrib|icacls|robocopy|xcopy|mklink|git\s+(checkout|restore|clean|stash|rm|mv))\b|>|\[(System\.)?IO\.|WriteAll|::Delete|::Move|::Copy|::Replace/i;

/** Evaluates a PowerShell command by its raw text, without a parser; denies it when in doubt. */
export async function evaluatePowerShell(source: string, cwd: string, guard: Guard): Promise<Verdict> {
  // PowerShell escapes with a backtick (Remo`ve-Item), cmd with a caret, and quotes may be anywhere in a word.
  const text = source.replace(/[`^'"]/g, '').replaceAll('\\', '/');
  const reading = readPowerShell(text, cwd, WRITES.test(text));
  const own = ownDenial(text, cwd, guard, reading.commands);
  const { guardrails } = guard.rules;
  if (own !== null) return own;
  if (!guardrails) return { decision: 'allow', recorded: [] };
  const { denial, open } = await evaluateGuardrails(source, reading, guard, guardrails);
  return denial ?? { decision: 'allow', recorded: open.map(({ kind, text: what }) => `${kind}: ${what}`) };
}

function ownDenial(text: string, cwd: string, guard: Guard, commands: readonly ShellCommand[]): Denial | null {
  for (const command of commands) {
    const program = mentionsControl(command.source, cwd, guard);
    const denied =
      program === undefined || runsControl(command, guard)
        ? controlCommandDenial(command, guard)
        : controlDenied(`this names ${program}`, guard.rules.agentCommands);
    if (denied !== undefined) return deny('control-commands', denied);
  }
  if (!WRITES.test(text)) return null;
  const words = text.split(/[\s,;|&()]+/, MAX_WORDS).map((word) => wordOf(word));
  const named = guard.own.find((entry) => mentions(text, entry));
  const own = named ?? words.map((word) => hitByName(word, cwd, guard)).find(Boolean);
  if (own === undefined) return null;
  return deny('own-files', unreadableDenied('own-files', POWERSHELL_WRITES, shownPath(own, guard)));
}

const MAX_WORDS = 500;
/** Pattern for more than plain commands: variables, blocks, calls, and code that is run. */
const MORE = /[$&(){}@]|\b(iex|invoke-expression|invoke-command|-enc\w*|add-type|start-process)\b/i;

/** Pattern for text before a started program, and for the options between them. */
const STARTS =
  /^(&|\.|iex|invoke-expression|invoke-command|start|saps|start-process|cmd|cmd\.exe|\/c|-command|-c|powershell|pwsh|npx)$/i;
const STARTS_WITH = /^-(argumentlist|args|filepath|nonewwindow|wait|passthru|scriptblock)$/i;

/** Splits an unquoted PowerShell text at its operators. Any word may be a path that is read or, with `writes`, removed. */
function readPowerShell(text: string, cwd: string, writes: boolean): ShellReading {
  const lines = text
    .split(/&&|\|\||[;\n{}]|(?<=sh(?:\.exe)?\s+-\w*c)\s/)
    .map((line) => line.split('|').flatMap((piece) => commandOf(piece, cwd) ?? []));
  const commands = lines.flat();
  const words = commands.flatMap(({ argv }) => argv).slice(0, MAX_WORDS);
  const uses = words.flatMap(({ template }): FileAccess[] => {
    const word = wordOf(posix.normalize(template));
    if (template.startsWith('-')) return [];
    return [{ word, cwdTemplate: cwd, by: 'PowerShell', how: 'read', position: 0 }];
  });
  return {
    ...emptyReading(),
    commands,
    pipelines: lines.filter((line) => line.length > 1).map((line) => line.map((command) => [command])),
    writes: writes ? uses.map((use) => ({ ...use, how: 'delete' as const, recursive: true as const })) : [],
    reads: uses,
    undecidable: commands.some(({ name, argv }) => name === '' && !/^[-+*]?=/.test(argv[1]?.template ?? '='))
      ? [{ kind: 'dynamic-command', text, position: 0, cwd }]
      : MORE.test(text)
        ? [{ kind: 'powershell', text, position: 0, cwd }]
        : [],
  };
}

function commandOf(piece: string, cwd: string): ShellCommand | null {
  const split = piece.split(/[\s,<>()]+/).filter((word) => word !== '' && !STARTS_WITH.test(word));
  const words = split.slice(split.findIndex((word) => !STARTS.test(word)));
  const [first] = words;
  if (first === undefined) return null;
  return {
    name: first.startsWith('$') ? '' : basenameOf(first),
    path: first,
    argv: words.map((word) => wordOf(word)),
    via: [],
    assignments: [],
    cwdTemplate: cwd,
    source: piece,
    position: 0,
  };
}
