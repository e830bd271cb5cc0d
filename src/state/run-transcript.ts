import { join } from 'node:path';
import { redact } from '../core/redact.ts';
import type { CommandOutcome } from '../core/schema/run-state.ts';
import { makeRunDir, type RunFiles, whatLies } from './run-files.ts';
import { writeAtomically } from './write-atomically.ts';

/** One iteration as people read it afterwards. */
export interface TranscriptParts {
  readonly loopId: string;
  readonly startedAt: string;
  readonly endedAt: string;
  /** Such as `completed` or `timeout`. */
  readonly status: string;
  /** As it was sent; null where nobody knows, such as the user's own first prompt. */
  readonly prompt: string | null;
  /** `output` is what the prompt got of it. */
  readonly commands: readonly (Pick<CommandOutcome, 'name' | 'outcome' | 'durationMs'> & {
    readonly run: string;
    readonly output: string;
  })[];
  /** The agent's final message; null where nobody knows it any more. */
  readonly message: string | null;
}

/**
 * Writes an iteration's transcript, secrets masked, to `transcripts/NNN.md` and gives back its path. One that is there,
 * of an idle iteration or an earlier run, is never overwritten: the new one is `NNN-2.md` and so on. Throws as the rest
 * of the run state does.
 */
export function writeTranscript(files: RunFiles, number: number, parts: TranscriptParts): string {
  makeRunDir(files, files.transcriptsDir);
  const stem = String(number).padStart(3, '0');
  for (let copy = 1; ; copy++) {
    const path = join(files.transcriptsDir, `${stem}${copy === 1 ? '' : `-${copy}`}.md`);
    if (whatLies(path) !== 'nothing') continue;
    writeAtomically(path, redact(transcriptText(number, parts)));
    return path;
  }
}

function transcriptText(number: number, parts: TranscriptParts): string {
  const { loopId, startedAt, endedAt, status, prompt, commands, message } = parts;
  const evidence = commands.flatMap(({ name, run, outcome, durationMs, output }) => [
    `### ${name}: ${outcome} after ${(durationMs / 1000).toFixed(1)} s`,
    fenced(run, 'sh'),
    fenced(output),
  ]);
  return [
    `# Iteration ${number}`,
    [`- Loop: ${loopId}`, `- Status: ${status}`, `- Started: ${startedAt}`, `- Ended: ${endedAt}`].join('\n'),
    '## Prompt',
    prompt === null ? 'Not known.' : fenced(prompt, 'markdown'),
    '## Command evidence',
    ...(evidence.length === 0 ? ['No command was run.'] : evidence),
    "## The agent's final message",
    message === null ? 'Not known.' : fenced(message, 'markdown'),
    '',
  ].join('\n\n');
}

/** A text as it is, in a fence that nothing within it can close. */
function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`;
}
