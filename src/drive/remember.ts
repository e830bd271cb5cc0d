import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Effect } from '../core/effects.ts';
import { appendSign } from '../core/signs.ts';
import { log } from '../state/log.ts';
import type { LoopFiles } from '../state/loop-files.ts';
import { regularFile } from '../state/regular-file.ts';
import { GUARDRAILS, LEARNINGS } from '../task/memory-files.ts';

/** What a loop leaves for the ones after it: signs in guardrails.md, and an entry in learnings.md when it ends. */
export function remember(
  files: LoopFiles,
  at: string,
  effect: Extract<Effect, { type: 'add-sign' | 'archive' }>,
): void {
  try {
    if (effect.type === 'add-sign') addSign(join(files.projectDir, GUARDRAILS), effect.sign);
    else addLearning(join(files.projectDir, LEARNINGS), files, at, effect);
  } catch (error) {
    // Memory is a help; a project that cannot be written to ends its loop all the same.
    log(files, at, 'memory', (error as Error).message);
  }
}

function addSign(path: string, sign: Extract<Effect, { type: 'add-sign' }>['sign']): void {
  const before = existsSync(path) ? readFileSync(regularFile(path), 'utf8') : '# Guardrails\n';
  const after = appendSign(before, sign);
  if (after === before) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, after);
}

function addLearning(
  path: string,
  files: LoopFiles,
  at: string,
  { as, message }: Extract<Effect, { type: 'archive' }>,
): void {
  mkdirSync(dirname(path), { recursive: true });
  if (existsSync(path)) regularFile(path);
  const name = files.name === null ? 'the loop' : `loop ${files.name}`;
  appendFileSync(path, `\n- ${at.slice(0, 16).replace('T', ' ')} UTC, ${name}, ${as}: ${message}\n`);
}
