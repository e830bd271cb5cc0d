import { appendFileSync, existsSync, lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import type { Effect } from '../../engine/events.ts';
import { signBehind } from '../../engine/prompt/signs.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { realPath } from '../../guard/comparable-path.ts';
import { regularFile } from '../../state/files/regular-file.ts';
import { type LoopFiles, orLogged } from '../../state/loop-files.ts';
import { dropSnapshot } from '../../state/snapshot/snapshot.ts';
import { archiveState, dropContract, withState } from '../../state/with-state.ts';
import { GUARDRAILS, LEARNINGS } from '../../task/task-file.ts';
import { redact } from '../../text/redact/redact.ts';
import { recordJournal } from './journal.ts';
import { notifyUser } from './notification.ts';
import { projectionOf, type StatusProjection } from './status-projection.ts';

/** Applies the effects that are the same for every driver: journals, signs, memory, archive, status projection. */
export function applyEffects(files: LoopFiles, at: string, effects: readonly Effect[], contract?: Contract): void {
  if (effects.length === 0) return;
  const projection = projectionOf(files, at, contract);
  recordEffects(files, at, effects, projection);
  applyRecorded(files, at, effects, projection);
}

/** Records events in the stream of the loop and in its task folder. Called under the lock where their order matters. */
export function recordEffects(
  files: LoopFiles,
  at: string,
  effects: readonly Effect[],
  projection = projectionOf(files, at),
): void {
  recordJournal(files, at, effects);
  projection.events(effects);
}

/** Applies effects whose events are recorded. */
export function applyRecorded(
  files: LoopFiles,
  at: string,
  effects: readonly Effect[],
  projection = projectionOf(files, at),
): void {
  if (effects.length === 0) return;
  notifyUser(files, at, effects);
  for (const effect of effects) {
    if (effect.type === 'add-sign' || effect.type === 'archive') recordLesson(files, at, effect);
    if (effect.type === 'archive') archiveEnded(files, projection);
  }
  projection.status(at);
}

/** Archives an ended loop, then removes contract and state: after a crash the next process archives it again. */
function archiveEnded(files: LoopFiles, projection: StatusProjection): void {
  withState(files, (current) => {
    if (current.kind !== 'loop' || current.state.status !== 'ended') return { next: 'keep', result: undefined };
    const { ended } = current.state;
    projection.status(ended.at, current.state);
    archiveState(files, current.state, ended.at, ended.as);
    dropContract(files);
    dropSnapshot(files);
    return { next: 'remove', result: undefined };
  });
}

/** A project with one of these folders keeps a memory of its loops. */
const MEMORY_FOLDERS = [dirname(LEARNINGS), dirname(GUARDRAILS)];

/** Records lessons for later loops: signs in guardrails.md, and an entry in learnings.md when the loop ends. */
export function recordLesson(
  files: LoopFiles,
  at: string,
  effect: Extract<Effect, { type: 'add-sign' | 'archive' }>,
): void {
  // Lessons are optional; the loop of a read-only project ends normally.
  orLogged(files, at, 'memory', () => {
    if (effect.type === 'add-sign') addSign(files, effect.sign);
    else addLearning(files, at, effect);
  });
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
  // A project that was not set up for memory is left alone.
  if (!MEMORY_FOLDERS.some((folder) => existsSync(join(projectDir, folder)))) return;
  const path = join(projectDir, LEARNINGS);
  const title = ownFile(projectDir, path) ? '' : '# Learnings\n';
  const whose = name === null ? 'the loop' : `loop ${name}`;
  // One line without secrets: the file is committed, and the message may quote the agent.
  const said = redact(message).replace(/\s+/g, ' ').trim();
  append(path, `${title}\n- ${at.slice(0, 16).replace('T', ' ')} UTC, ${whose} (${as}): ${said}\n`);
}

/** Appends text, because people and agents write these files as well. */
function append(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  appendFileSync(path, text);
}

/** Returns whether a regular file exists at `path`. Throws if a link, which an agent can make, leads outside. */
function ownFile(projectDir: string, path: string): boolean {
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  if (!realPath(path).startsWith(realPath(projectDir) + sep))
    throw new Error(`${path} leads out of the project, and nothing is written through it`);
  if (isThere) regularFile(path);
  return isThere;
}
