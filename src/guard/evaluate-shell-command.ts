import { dirname, normalize } from 'node:path';
import type { Guardrails } from '../engine/schema/contract.ts';
import { isFolder } from '../state/files/regular-file.ts';
import { excerpt } from '../text/quote.ts';
import { evaluateCommandRules, openRules } from './commands/evaluate-rules.ts';
import { realPaths } from './comparable-path.ts';
import { evaluatePush, evaluateShellScope } from './evaluate-scope.ts';
import { evaluateShellFiles, evaluateUndecided, type FileVerdict, type Open } from './files/evaluate-files.ts';
import { guardsFiles } from './files/tool-paths.ts';
import { type Denial, deny, type Guard, mentions, type Verdict } from './guard.ts';
import { ownFileDenied, ownFileNamed, TOO_MANY_GLOBS, unreadableDenied, whyUndecided } from './messages.ts';
import { controlCommandDenial, controlCopyDenial, mentionsControl, runsControl } from './own-files/control-commands.ts';
import { hitByFileAccess, hitByName } from './own-files/file-access-hit.ts';
import { absolutePath, shownPath } from './own-files/own-files.ts';
import { commandsIn } from './shell/interpret/open-shell.ts';
import { readShellCommand } from './shell/read-shell-command.ts';
import { emptyReading, type ShellReading, type Undecidable } from './shell/shell-reading.ts';
import { wordOf } from './shell/words.ts';

const MAX_GLOBS = 200;
const MAX_EXCERPT = 200;

/** Evaluates a shell command by the loop's own rules, then by the user's. Loads the parser, so only shell tools use it. */
export async function evaluateShellCommand(source: string, cwd: string, guard: Guard): Promise<Verdict> {
  const { projectDir, home, variables } = guard.rules;
  const reading = readShellCommand(source, {
    cwd,
    home,
    variables: { CLAUDE_PROJECT_DIR: projectDir, ...variables },
    directoryExists: isFolder,
  });
  const verdict = await evaluateReading(source, reading, guard);
  const known = linksOf(reading, guard);
  if (verdict.decision === 'deny' || known.size === 0) return verdict;
  const writes = reading.writes.filter(({ how }) => how !== 'link' && how !== 'link-source');
  const behind = await evaluateReading(source, { ...reading, writes }, { ...guard, real: realPaths(known) });
  return behind.decision === 'deny' ? behind : verdict;
}

/** Returns the links that a command creates, with their targets: `ln -s "$PWD/src" /tmp/x; rm /tmp/x/../a`. */
function linksOf({ writes }: ShellReading, { real }: Guard): Map<string, string> {
  const links = new Map<string, string>();
  for (const { how, word, from, cwdTemplate } of writes) {
    const path = normalize(absolutePath(word.template, cwdTemplate));
    if (how === 'link' && from !== undefined) links.set(path, real(absolutePath(from.template, dirname(path))));
  }
  return links;
}

async function evaluateReading(source: string, reading: ShellReading, guard: Guard): Promise<Verdict> {
  const own = ownDenial(reading, guard);
  if (own !== null) return own;
  const { guardrails, scope } = guard.rules;
  if (scope) {
    const denial = await evaluateShellScope(reading, guard, scope);
    if (denial !== null) return denial;
  }
  const user = guardrails ? await evaluateGuardrails(source, reading, guard, guardrails) : NOTHING;
  if (user.denial !== null) return user.denial;
  return { decision: 'allow', recorded: [...new Set([...recordedOf(reading), ...user.open.map(shownOpen)])] };
}

/** Evaluates the command that a tool's name stands for, by the rules about pushes and commands: its words name no files. */
export async function evaluateName(text: string, cwd: string, guard: Guard): Promise<Denial | null> {
  const { home, scope, guardrails, caseInsensitive } = guard.rules;
  const reading = readShellCommand(text, { cwd, home });
  const pushed = scope ? evaluatePush(reading, scope, guard.rules.projectDir) : null;
  if (pushed !== null || !guardrails) return pushed;
  return evaluateCommandRules(text, reading, { ...guardrails, shellAllow: null }, caseInsensitive);
}

/** Evaluates code for an interpreter by the names in it: the code is not parsed. */
export async function evaluateCode(text: string, cwd: string, guard: Guard): Promise<Verdict> {
  const piece: Undecidable = { kind: 'interpreter-code', text, position: 0, cwd };
  for (const command of commandsIn(text, '')) {
    const verdict = await evaluateShellCommand(command, cwd, guard);
    if (verdict.decision === 'deny') return verdict;
  }
  const { guardrails } = guard.rules;
  const reading: ShellReading = { ...emptyReading(), undecidable: [piece] };
  const denial =
    evaluateUndecidable(piece, guard) ??
    (guardrails ? (await evaluateGuardrails('', reading, guard, guardrails)).denial : null);
  return denial ?? { decision: 'allow', recorded: [shownOpen(piece)] };
}

/** Returns a denial for changes to the loop's files and for control of the loop; null otherwise. */
export function ownDenial(reading: ShellReading, guard: Guard): Denial | null {
  for (const command of reading.commands) {
    const message = controlCommandDenial(command, guard);
    if (message !== undefined) return deny('control-commands', message);
  }
  const copied = controlCopyDenial(reading, guard);
  if (copied !== undefined) return deny('control-commands', copied);
  if (reading.writes.filter(({ word }) => word.pattern !== undefined).length > MAX_GLOBS)
    return deny('own-files', TOO_MANY_GLOBS);
  for (const write of reading.writes) {
    const hit = hitByFileAccess(write, guard);
    if (hit !== undefined)
      return deny('own-files', ownFileDenied(shownPath(hit, guard), write.by || 'this redirection'));
  }
  const unknown = namedOwnFile(reading, guard);
  if (unknown !== undefined) return unknown;
  for (const piece of reading.undecidable) {
    const verdict = evaluateUndecidable(piece, guard);
    if (verdict !== undefined) return verdict;
  }
  return null;
}

/** Returns a denial for an own file that an unknown program receives by name. */
function namedOwnFile(reading: ShellReading, guard: Guard): Denial | undefined {
  for (const { command, words } of reading.named) {
    if (runsControl(command, guard)) continue;
    for (const word of words) {
      const hit = hitByName(word, command.cwdTemplate, guard);
      if (hit !== undefined)
        return deny('own-files', ownFileNamed(shownPath(hit, guard), command.name || 'this command'));
    }
  }
  return undefined;
}

function shownOpen({ kind, text }: Open): string {
  return `${kind}: ${excerpt(text.replaceAll('\0', '…'), MAX_EXCERPT)}`;
}

function recordedOf(reading: ShellReading): string[] {
  const recorded = reading.undecidable.map(shownOpen);
  for (const write of reading.writes) {
    if (write.how === 'git-tracked') recorded.push(`tracked files may change: ${write.word.source}`);
    else if (write.how === 'extract')
      recorded.push(shownOpen({ kind: 'an archive is extracted', text: `${write.by} into ${write.word.template}` }));
  }
  return recorded;
}

/** Allows undecidable parts unless their text names something protected. */
function evaluateUndecidable(piece: Undecidable, guard: Guard): Denial | undefined {
  if (piece.kind === 'dynamic-write-target') return undefined;
  const why = whyUndecided(piece.kind);
  const program = mentionsControl(piece.text, piece.cwd, guard);
  if (program !== undefined) return deny('control-commands', unreadableDenied('control-commands', why, program));
  const cwd = piece.cwd ?? guard.rules.projectDir;
  const own = guard.own.find((entry) => mentions(piece.text, entry)) ?? hitByName(wordOf(piece.text), cwd, guard);
  return own === undefined ? undefined : deny('own-files', unreadableDenied('own-files', why, shownPath(own, guard)));
}

export const NOTHING: FileVerdict = { denial: null, open: [] };

/** Evaluates a shell command by the user's rules: allowlist, blocked commands, files, then undecidable parts. */
export async function evaluateGuardrails(
  source: string,
  reading: ShellReading,
  guard: Guard,
  rules: Guardrails,
): Promise<FileVerdict> {
  const { caseInsensitive, projectDir } = guard.rules;
  const blocked = evaluateCommandRules(source, reading, rules, caseInsensitive, projectDir);
  if (blocked !== null) return { denial: blocked, open: [] };
  const { writes, reads, undecidable, named } = reading;
  const names = guardsFiles(rules) && writes.length + reads.length + undecidable.length + named.length > 0;
  const files = names ? await evaluateShellFiles(reading, guard, rules) : NOTHING;
  if (files.denial !== null) return files;
  const open = [
    ...files.open,
    ...openRules(reading, rules, caseInsensitive).map((rule) => ({ kind: 'open-argument', text: rule })),
  ];
  return { denial: evaluateUndecided([...reading.undecidable, ...open], rules), open };
}
