import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { writeManifest } from '../../../src/state/evidence/evidence.ts';
import { sha256 } from '../../../src/state/hash-contract.ts';
import { LOOP_NAME, type LoopFiles, loopFiles } from '../../../src/state/loop-files.ts';
import fc from '../../support/property.ts';
import { type Payload, payload, payloadBytes, SESSION } from './payload.ts';
import { LOOP, type LoopOnDisk, loopOnDisk } from './state.ts';
import { anyText, contentBytes, written } from './text.ts';
import { type Transcript, transcript, transcriptBytes } from './transcript.ts';

export type HookName =
  | 'Stop'
  | 'UserPromptSubmit'
  | 'SessionStart'
  | 'StopFailure'
  | 'PreToolUse'
  | 'PostToolUse'
  | 'PostToolUseFailure';

/** One generated case: what lies on disk, what the environment says, and which hooks the client calls, with what. */
export interface Case {
  readonly loop: LoopOnDisk;
  readonly task: string | null;
  readonly transcript: Transcript | null;
  readonly subagent: Transcript | null;
  readonly calls: Transcript | null;
  readonly cost: string | null;
  readonly cancellation: string | null;
  readonly env: Readonly<Record<string, string>>;
  readonly payload: Payload;
  /** Of the payload, an event other than the hook's own. */
  readonly event: string | null;
}

function seldom<T>(weight: number, value: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });
}

const variable = {
  RALPH_LOOP_ID: seldom(1, fc.constantFrom(LOOP, LOOP, LOOP, LOOP, LOOP, 'loop-2', '')),
  RALPH_LOOP: seldom(9, fc.constantFrom('alpha', '../../x', '__proto__', '')),
  RALPH_DRIVER: seldom(14, fc.constantFrom('hook', 'runner', 'router')),
  RALPH_MAX_ITERATIONS: seldom(9, fc.constantFrom('5', '0', '1e9', 'x')),
  RALPH_COMPLETION_SIGNAL: seldom(9, fc.constantFrom('DONE', '', '\u2028', '`')),
  RALPH_CIRCUIT_BREAKER_THRESHOLD: seldom(9, fc.constantFrom('1', '-1', 'x')),
  CLAUDE_PID: seldom(1, fc.constantFrom(String(process.pid), '4000000', '0', '-1', 'x', '1e3')),
};

const task = fc.oneof(
  { weight: 12, arbitrary: fc.constant<string | null>('Do the work.\n') },
  { weight: 2, arbitrary: anyText },
  { weight: 1, arbitrary: anyText.map((text) => `---\n${text}\n---\nDo the work.\n`) },
  { weight: 1, arbitrary: fc.constant(null) },
);

export const aCase: fc.Arbitrary<Case> = fc.record({
  loop: loopOnDisk,
  task,
  transcript: fc.oneof({ weight: 6, arbitrary: transcript }, { weight: 1, arbitrary: fc.constant(null) }),
  subagent: seldom(9, transcript),
  calls: seldom(4, transcript),
  cost: seldom(
    6,
    fc.oneof(anyText, fc.constantFrom(`{"sessionId":"${SESSION}","costUsd":1e999}`, '{"costUsd":-1}', 'null')),
  ),
  cancellation: seldom(
    12,
    fc.oneof(anyText, fc.constantFrom(`{"sessionId":"${SESSION}"}`, `{"sessionId":null,"loopId":"${LOOP}"}`, 'null')),
  ),
  env: fc.record(variable).map((all) => {
    const set = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null);
    return Object.fromEntries(set);
  }),
  payload,
  event: seldom(30, fc.constantFrom('Stop', 'SubagentStop', 'PreToolUse', '')),
});

/** A case on disk. */
export interface Laid {
  readonly project: string;
  readonly files: LoopFiles;
  readonly env: Readonly<Record<string, string>>;
  readonly transcript: string;
  /** The payload of a hook, as it comes on standard input. */
  readonly input: (hook: HookName) => Buffer;
  readonly remove: () => void;
}

/** Writes a case into a folder of its own under `directory`. */
export function lay(one: Case, directory: string): Laid {
  const root = mkdtempSync(join(directory, 'case-'));
  const project = join(root, 'project');
  const path = join(root, 'transcript.jsonl');
  const env = {
    ...one.env,
    HOME: root,
    XDG_STATE_HOME: join(root, 'outside'),
    CLAUDE_ENV_FILE: join(root, 'env'),
    CLAUDE_PROJECT_DIR: project,
    RALPH_ACTIVE: '1',
  };
  const name = one.env['RALPH_LOOP'];
  mkdirSync(project);
  const files = loopFiles(project, name !== undefined && LOOP_NAME.test(name) ? name : null, env);
  put(files.state, one.loop.state && contentBytes(one.loop.state));
  const contract = one.loop.contract && contentBytes(one.loop.contract);
  put(files.contract, contract);
  // A contract that nothing lists is lost: the hooks would hardly ever block.
  if (contract !== null) writeManifest(files, LOOP, { contract: { is: sha256(contract) } });
  put(join(project, '.claude', 'ralph', 'PROMPT.md'), one.task === null ? null : Buffer.from(written(one.task)));
  put(path, one.transcript && transcriptBytes(one.transcript));
  put(join(root, 'transcript', 'subagents', 'agent-1.jsonl'), one.subagent && transcriptBytes(one.subagent));
  put(files.events, one.calls && transcriptBytes(one.calls));
  put(files.cost, one.cost === null ? null : Buffer.from(written(one.cost)));
  put(files.cancellation, one.cancellation === null ? null : Buffer.from(written(one.cancellation)));
  return {
    project,
    files,
    env,
    transcript: path,
    input: (hook) => payloadBytes(one.payload, one.event ?? hook, { project, transcript: path }),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

function put(path: string, content: Buffer | null): void {
  if (content === null) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
