import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Effect } from '../core/effects.ts';
import { redact } from '../core/redact.ts';
import { signBehind } from '../core/signs.ts';
import { withStatus } from '../core/with-status.ts';
import { log } from '../state/log.ts';
import type { LoopFiles } from '../state/loop-files.ts';
import { GUARDRAILS, LEARNINGS } from '../task/memory-files.ts';
import { ownFile } from './own-file.ts';

/** What a loop leaves for the ones after it: signs in guardrails.md, and an entry in learnings.md when it ends. */
export function remember(
  files: LoopFiles,
  at: string,
  effect: Extract<Effect, { type: 'add-sign' | 'archive' }>,
): void {
  try {
    if (effect.type === 'add-sign') addSign(files, effect.sign);
    else addLearning(files, at, effect);
  } catch (error) {
    // Memory is a help; a project that cannot be written to ends its loop all the same.
    log(files, at, 'memory', (error as Error).message);
  }
}

function addSign({ projectDir }: LoopFiles, sign: Extract<Effect, { type: 'add-sign' }>['sign']): void {
  const path = join(projectDir, GUARDRAILS);
  const title = '# Guardrails\n';
  const isThere = ownFile(projectDir, path);
  const added = signBehind(isThere ? readFileSync(path, 'utf8') : title, sign);
  if (added !== '') append(path, redact(isThere ? added : title + added));
}

function addLearning(
  { projectDir, name }: LoopFiles,
  at: string,
  { as, message }: Extract<Effect, { type: 'archive' }>,
): void {
  const path = join(projectDir, LEARNINGS);
  ownFile(projectDir, path);
  const whose = name === null ? 'the loop' : `loop ${name}`;
  // One line, and no secret: the file is committed, and an agent's own words may stand in the message.
  const said = redact(message).replace(/\s+/g, ' ').trim();
  append(path, `\n- ${at.slice(0, 16).replace('T', ' ')} UTC, ${whose}, ${withStatus(as, said)}\n`);
}

/** Behind what lies there, which nobody has to write again: people and agents keep these files, too. */
function append(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  appendFileSync(path, text);
}
