import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Guardrails } from '../../engine/schema/contract.ts';
import { withinTime } from '../commands/within-time.ts';
import type { Guard } from '../guard.ts';
import { type Denial, deny, evaluateUndecided, type ToolCall, type Verdict } from '../guard-rules.ts';
import { fileDenied, slowPatternDenied } from '../messages.ts';
import type { FileAccess, ShellReading } from '../shell/shell-reading.ts';
import { type PathPattern, pathForms, pathPattern } from './path-pattern.ts';
import { type Budget, isSpent, newBudget, type Reached, reachedByTool, reachedPaths } from './reached-paths.ts';

/** Undecidable part of a call: a kind that `undecidedDenied` knows, and its text. */
export interface Open {
  readonly kind: string;
  readonly text: string;
}

export interface FileVerdict {
  readonly denial: Denial | null;
  readonly open: readonly Open[];
}

/** Time limit for all globs of one call, which may be matched with thousands of files. */
const GLOB_LIMIT_MS = 150;

type FileRules = Pick<Guardrails, 'protectedFiles' | 'privateFiles'>;
type Rule = PathPattern & { readonly rule: string };

interface Access extends Reached {
  readonly by: string;
  readonly reads: boolean;
}

export async function evaluateShellFiles(reading: ShellReading, guard: Guard, rules: FileRules): Promise<FileVerdict> {
  const budget = newBudget();
  const accessesOf = (uses: readonly FileAccess[], reads: boolean): Access[] =>
    uses.flatMap((use) =>
      reachedPaths(use, guard, budget).map((each) => ({ ...each, by: use.by || 'this redirection', reads })),
    );
  const reads = rules.privateFiles.length > 0 ? reading.reads : [];
  const code = rules.privateFiles.length > 0 ? namedByCode(reading, guard) : [];
  const accesses = [...accessesOf(reading.writes, false), ...accessesOf(reads, true), ...code];
  const open: Open[] = [
    ...reading.writes.filter(isUnforeseeable).map(({ word }) => ({ kind: 'unknown-files', text: word.source })),
    ...reads.filter(isUnknown).map(({ word }) => ({ kind: 'dynamic-read', text: word.source })),
    ...tooMany(budget, [...new Set(accesses.map(({ by }) => by))].join(', ')),
  ];
  return { denial: await firstDenied(accesses, guard, rules), open };
}

const MAX_PIECES = 2000;

/** Files that code for an interpreter names: nobody can tell what it does with them. */
function namedByCode(reading: ShellReading, guard: Guard): Access[] {
  const texts = [
    ...reading.undecidable.filter(({ kind }) => kind === 'interpreter-code'),
    // Code that a program which is not known gets by an option, or a path in its clothes.
    ...reading.named.flatMap(({ command: { cwd }, words }) =>
      words.filter(({ template }) => /['"()]/.test(template)).map(({ template }) => ({ text: template, cwd })),
    ),
  ];
  return texts.flatMap(({ text, cwd }) =>
    pathsInCode(text, cwd ?? guard.rules.projectDir).map((path) => ({
      forms: pathForms(path, cwd ?? guard.rules.projectDir, guard),
      shown: path,
      by: 'this code',
      reads: true,
    })),
  );
}

/**
 * The strings of a code, whole and in pieces, and what looks like a path outside of them. `process.env` and `e.key` are no
 * paths, and a plain word (`json["secrets"]`) is one only where such a file is there.
 */
function pathsInCode(text: string, cwd: string): string[] {
  const strings = [...text.matchAll(/(['"`])((?:(?!\1)[^\\\n]){1,1024})\1/g)].map((match) => match[2] ?? '');
  const pieces = strings
    .flatMap((string) => [...new Set([string, ...string.split(/[\s=:,;()<>|'"]+/)])])
    .filter(Boolean);
  const bare = text.match(/(?<![\w)\].])[.~/][\w./~*-]*|[\w.-]+\/[\w./-]*/g) ?? [];
  const isThere = (piece: string): boolean => existsSync(join(cwd, piece));
  return [
    ...pieces.filter((piece) => /[./]/.test(piece) || isThere(piece)),
    ...bare.filter((piece) => /\//.test(piece) || isThere(piece)),
  ].slice(0, MAX_PIECES);
}

export async function evaluateToolFiles(call: ToolCall, guard: Guard, rules: Guardrails): Promise<Verdict> {
  const budget = newBudget();
  const { reached, reads } = reachedByTool(call, guard, budget);
  const accesses = reached.map((each) => ({ ...each, by: call.tool, reads }));
  const open = tooMany(budget, call.tool);
  const denial = (await firstDenied(accesses, guard, rules)) ?? evaluateUndecided(open, rules);
  return denial ?? { decision: 'allow', recorded: open.map(({ kind, text }) => `${kind}: ${text}`) };
}

/** Once the budget of the whole call is spent, some paths have not been looked at. */
function tooMany(budget: Budget, text: string): Open[] {
  if (!budget.cut) return [];
  return [{ kind: isSpent(budget) ? 'too-many-files' : 'many-files', text }];
}

/** Private files may not be changed either. */
async function firstDenied(accesses: readonly Access[], guard: Guard, rules: FileRules): Promise<Denial | null> {
  const named = (list: string, patterns: readonly string[]): Promise<Rule[]> =>
    Promise.all(
      patterns.map(async (pattern) => ({ ...(await pathPattern(pattern, guard)), rule: `${list}: ${pattern}` })),
    );
  const hidden = await named('private_files', rules.privateFiles);
  const all = [...(await named('protected_files', rules.protectedFiles)), ...hidden];
  let current = '';
  const evaluate = (): Denial | null => {
    for (const { forms, shown, by, reads } of accesses) {
      for (const { covers, rule } of reads ? hidden : all) {
        current = rule;
        if (covers(forms)) return deny(rule, fileDenied(shown, by, reads));
      }
    }
    return null;
  };
  if (all.every(({ isFast }) => isFast)) return evaluate();
  const result = withinTime(GLOB_LIMIT_MS, evaluate);
  return result === null ? deny(current, slowPatternDenied()) : result.value;
}

/** An archive, a patch or a branch decides which files change. */
function isUnforeseeable({ how, word }: FileAccess): boolean {
  return how === 'extract' || (how === 'git-tracked' && !/^git (reset|stash)$/.test(word.source));
}

function isUnknown({ word, target, cwd }: FileAccess): boolean {
  if (word.under !== undefined) return false;
  return target === null || (cwd === null && !target.startsWith('/'));
}
