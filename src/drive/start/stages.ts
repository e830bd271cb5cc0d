import type { Baseline } from '../../engine/schema/proof.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { LoopFiles, StoredContract } from '../../state/loop-files.ts';
import type { Evidence } from '../../task/commands/run-evidence.ts';
import type { Problem } from '../../task/frontmatter/problem.ts';
import type { GitPins } from '../../task/git/run-git.ts';
import type { StartPoint } from '../../task/git/start-point.ts';
import type { ContractTerms } from '../../task/settings/build-contract.ts';
import type { ResolvedPolicy, Settings } from '../../task/settings/resolve-policy.ts';
import type { ChecklistItem } from '../../text/markdown/lists.ts';
import type { Person } from '../control/operate.ts';
import type { StartRecord } from '../prompt/project-change.ts';
import type { ConsentTerms } from './terms/consent-terms.ts';

/** Terms from which a contract is made, apart from the project's files. */
export interface ContractRequest {
  readonly projectDir: string;
  readonly name: string | null;
  /** A task file or a task folder, absolute or relative to the project; null is PROMPT.md. */
  readonly task: string | null;
  /** Values of the task's arguments, by name. Default: none. */
  readonly args?: Readonly<Record<string, string>>;
  /** Former values, used for declared arguments that `args` lacks. */
  readonly formerArgs?: Readonly<Record<string, string>>;
  readonly flags: Readonly<Record<string, string | number | boolean>>;
  readonly env: NodeJS.ProcessEnv;
  readonly at: string;
  /** True if the user has agreed to the loop; false if an agent requests it. */
  readonly consented: boolean;
  /** True if no terminal is attached to the agent. Default: false. */
  readonly headless?: boolean;
  /** True if a launcher starts the client, with our status line and a known permission mode. Default: false. */
  readonly launched?: boolean;
  /** Version of the client. A function is called with the host, and not for a command; its errors are thrown. Default: null. */
  readonly clientVersion?: string | null | ((host: string | undefined) => string | null);
  /** Host of a loop in a session; absent for Claude Code. A runner's host comes from its settings. */
  readonly host?: string | undefined;
  readonly bundleDir?: string | null;
  readonly clientArgs?: readonly string[];
  /**
   * Present for a plan: `from` is the id of its first task, `only` that of its only one, `commitForm` the form of the
   * repository's commit messages.
   */
  readonly plan?: {
    readonly from: string | null;
    readonly only?: string | undefined;
    readonly commitForm?: string;
  } | null;
  /** True to work test-first on the existing list. A resumed TDD loop does so by default. */
  readonly tdd?: boolean;
  /** Driver of the loop. Default: the Stop hook. */
  readonly mode?: LoopState['mode'];
  /** Terms that apply regardless of the current task file and settings. */
  readonly fixed?: PreparedContract | undefined;
}

/** First stage: the request of a command, a session, a batch or a worker of the fleet. */
export interface StartRequest extends ContractRequest {
  /** Treatment of an existing state: resume it, archive it (fresh), or refuse. */
  readonly existing: 'resume' | 'fresh' | 'refuse';
  /** Digests of settings to which the user agrees by the start itself, which shows them. Default: none. */
  readonly agreed?: readonly string[];
  /** A person at a terminal takes the present state as a new start if evidence of the resumed loop is lost. */
  readonly takesNewStart?: boolean;
}

export type Resolved = Extract<ResolvedPolicy, { ok: true }>;

export interface PreparedContract {
  readonly resolved: Resolved;
  readonly terms: Omit<ContractTerms, 'loopId'>;
  readonly warnings: readonly Problem[];
  /** Items of a checklist as they are now; null for another task. */
  readonly checklist: readonly ChecklistItem[] | null;
}

/** Second stage: task file and settings, read and checked once. Nothing is changed yet. */
export interface Prepared extends PreparedContract {
  readonly request: StartRequest;
  readonly files: LoopFiles;
}

/** Terms that a person was shown and approved. */
export interface Approval {
  readonly terms: ConsentTerms;
  readonly by: Person;
}

/** Results of the checks before the start, and the project's state after them. */
export interface StartBaseline {
  readonly baseline: Baseline;
  readonly record: StartRecord;
  /** Output of the task's commands, which the first prompt uses instead of running them again. */
  readonly evidence: readonly Evidence[];
}

/** Third stage: a start to which the user agreed, and the facts gathered before it. */
export interface Approved {
  readonly prepared: Prepared;
  /** Null if no person had to agree. */
  readonly approval: Approval | null;
  /** Null if the checks are not to run, or if an agent has already worked on the loop. */
  readonly baseline: StartBaseline | null;
  /** State of the repository before the start; null if unknown or for a resumed loop. */
  readonly startPoint: StartPoint | null;
  /** Git settings of the project, for a loop that is resumed; null otherwise. */
  readonly gitPins: GitPins | null;
  /** Time at which the loop begins: after its checks. */
  readonly at: string;
}

/** Last stage: a loop whose contract and state are stored. */
export interface StartedLoop {
  readonly loopId: string;
  readonly files: LoopFiles;
  readonly state: LoopState;
  readonly stored: StoredContract;
  readonly settings: Settings;
  readonly warnings: readonly Problem[];
}
