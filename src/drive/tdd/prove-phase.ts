import type { Contract } from '../../engine/schema/contract.ts';
import type { TddLogEntry, TddPhase, TddRecord, TddScenario, TddStanding } from '../../engine/schema/tdd.ts';
import { TDD_TEXTS } from '../../engine/tdd/messages.ts';
import type { MayRun } from '../../engine/tdd/phases.ts';
import { isComplete, mayRun, recordBroken, recordPhase, scenarioAtWork, standingOf } from '../../engine/tdd/phases.ts';
import { type LoopFiles, readContract } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { withTdd } from '../../state/tdd-store.ts';
import { scriptsOfList } from '../../task/tdd/make-list.ts';
import { alsoNamed } from '../../task/tdd/required-files.ts';
import { runScenario, type ScenarioRun } from '../../task/tdd/run-scenario.ts';
import {
  addedData,
  addedTests,
  changedTests,
  headsOf,
  isGrown,
  isKept,
  ownOf,
  type TestFiles,
  testFiles,
  testsInCode,
  testsOf,
  unreadableIn,
  usedBy,
  withoutOutput,
} from '../../task/tdd/test-files.ts';
import type { Message } from '../../text/message.ts';
import { commandGuard } from '../control/command-guard.ts';
import { listOf } from './scenario-list.ts';

interface PhaseRequest {
  readonly phase: TddPhase;
  /** Null for the current scenario. */
  readonly id: string | null;
  /** True to repeat red for a changed test. */
  readonly again: boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly now: () => string;
}

export interface PhaseAnswer extends Pick<ScenarioRun, 'problem' | 'bytes' | 'exitCode' | 'failedTests'> {
  readonly ok: boolean;
  readonly ran: boolean;
  readonly scenario:
    | (Pick<TddScenario, 'id' | 'description'> & { readonly command: string; readonly status: TddStanding })
    | null;
  /** Output of this run or of the one that proved the phase, at most 12,000 characters. */
  readonly output: string;
  /** Repairs of the project's state file. */
  readonly notes: readonly string[];
}

/** Runs a scenario's evidence command and records the proof, unless another process changed the list meanwhile. */
export async function provePhase(files: LoopFiles, request: PhaseRequest): Promise<PhaseAnswer> {
  const { phase, id, again, env, signal, now } = request;
  const say = (message: Message | string): string => show(message, { name: files.name, mode: 'hook' });
  const { projectDir } = files;
  const allowed = (found: TddRecord): MayRun => {
    const proved = id === null ? undefined : found.provedTests?.[id];
    const hasOther = again && proved !== undefined && changedTests(projectDir, proved).length > 0;
    return mayRun(found, phase, id, again, hasOther);
  };
  const begun = withTdd(files, now(), (found) => {
    const list = listOf(found, files.name);
    return { next: 'keep', result: { ...list, may: allowed(list.record) } };
  });
  const { record, notes: repairs, may } = begun;
  if (may.kind === 'refused') return refusal(record, id, say(may.why), repairs);
  if (may.kind === 'done')
    return standing(record, may.scenario, phase, [...repairs, say(TDD_TEXTS.nothingRan(may.scenario.id, phase))]);
  const contract = readContract(files)?.contract;
  const options = { projectDir, signal, env, sandbox: contract?.sandbox, blockingRule: guardOf(contract) };
  const redScripts = phase === 'red' ? scriptsOfList(projectDir, [may.scenario], true) : record.redScripts;
  const own = testsOf(may.scenario, projectDir, record.tests);
  const used = () => usedBy(own, projectDir, Object.keys(redScripts ?? {}));
  const testsBefore = phase === 'red' ? { ...used(), ...own } : record.redTests;
  const notes = [...repairs];
  const unfit = phase === 'red' ? unfitTests(record, may.scenario, own, projectDir, notes) : null;
  if (unfit !== null) return refusal(record, id, say(unfit), notes);
  const otherTests = (data: readonly string[]) => otherTest(projectDir, record, may.scenario.id, phase, data);
  const before = otherTests([]);
  if (before !== null) return refusal(record, id, say(before), notes);
  const dataThen = phase === 'green' ? addedData(projectDir, record.redTests ?? {}) : new Map<string, string>();
  const ran = await runScenario(record, may.scenario, phase, options);
  const written = phase === 'red' ? withoutOutput(projectDir, testsBefore ?? {}) : null;
  const redTests = written?.tests ?? testsBefore;
  if (written !== null && written.output.length > 0) notes.push(TDD_TEXTS.notCompared(written.output));
  const named = phase === 'refactored' ? [] : alsoNamed(Object.keys(testsBefore ?? {}), projectDir);
  if (named.length > 0) notes.push(TDD_TEXTS.alsoNamed(named));
  const data = unwritten(dataThen, projectDir, record);
  // A process of the agent may have presented another test to the command.
  const during = ran.problem === null || data.length > 0 ? otherTests(data) : null;
  const run = during === null ? ran : { ...ran, problem: say(during) };
  return withTdd(files, now(), (found) => {
    const current = listOf(found, files.name);
    const still = allowed(current.record);
    const all = [...notes, ...current.notes];
    const sameList = current.record.listId === record.listId;
    // Another process proved the same phase meanwhile.
    if (sameList && still.kind === 'done' && still.scenario.id === may.scenario.id) {
      const told = [...all, say(TDD_TEXTS.nothingRan(still.scenario.id, phase))];
      return { next: 'keep', result: standing(current.record, still.scenario, phase, told) };
    }
    const same = sameList && current.record.log.length === record.log.length;
    if (!same || still.kind !== 'run' || still.scenario.id !== may.scenario.id)
      return { next: 'keep', result: refusal(current.record, id, say(TDD_TEXTS.meanwhile), all) };
    const proved = after(current.record, may.scenario.id, phase, run, now());
    const next =
      proved && withTests(proved, current.record, may.scenario.id, phase, { redScripts, redTests, own, projectDir });
    return { next: next ?? 'keep', result: answer(next ?? current.record, may.scenario, run, all) };
  });
}

/** Returns the added data that the scenario's command did not write itself. */
function unwritten(dataThen: ReadonlyMap<string, string>, projectDir: string, { redTests = {} }: TddRecord): string[] {
  const dataNow = dataThen.size === 0 ? dataThen : addedData(projectDir, redTests);
  return [...dataThen].flatMap(([path, stamp]) => (dataNow.get(path) === stamp ? [path] : []));
}

/** Returns the guardrails of the live loop. Starting it approved the list's commands, so the allowlist does not apply. */
export function guardOf(contract: Contract | undefined): (run: string, directory: string) => Promise<string | null> {
  if (contract === undefined) return async () => null;
  if (contract.tdd === undefined) return commandGuard(contract);
  return commandGuard({ ...contract, guardrails: { ...contract.guardrails, shellAllow: null } });
}

/** Returns why the tests of a scenario cannot be its red ones, or null. Adds notes for the agent to `notes`. */
function unfitTests(
  record: TddRecord,
  scenario: TddScenario,
  tests: TestFiles,
  projectDir: string,
  notes: string[],
): Message | string | null {
  const inCode = record.log.length === 0 ? testsInCode(scenario, projectDir) : null;
  if (inCode !== null) notes.push(TDD_TEXTS.testsInCode(inCode));
  const others = testsOfOthers(record, scenario, tests, projectDir);
  if (others?.isRewritten) return TDD_TEXTS.testsRewritten(others.paths, others.ids);
  if (others !== null) notes.push(TDD_TEXTS.testsOfOthers(others.paths, others.ids));
  const unread = unreadableIn(tests);
  if (unread.length > 0) return TDD_TEXTS.testsUnreadable(unread);
  const other = record.completed.find((each) => each.id !== scenario.id && each.evidenceCommand === scenario.run);
  if (other === undefined || isComplete(record, scenario.id) || testsInCode(scenario, projectDir) !== null) return null;
  // If the same command has passed since, only another test shows that this behaviour was missing.
  const isFirst = standingOf(record, scenario.id) === 'pending';
  const then = { ...(isFirst && record.provedTests?.[other.id]), ...record.tests };
  const paths = Object.keys(tests);
  const isNew = paths.length === 0 || paths.some((path) => !isKept(then[path], tests[path]));
  return isNew ? null : TDD_TEXTS.noNewTest(other.id);
}

/** Names the tests of the scenario, and added `data`, that differ from those that were red; null before green or if none do. */
function otherTest(
  projectDir: string,
  record: TddRecord,
  id: string,
  phase: TddPhase,
  data: readonly string[],
): Message | null {
  if (phase === 'red') return null;
  const then = phase === 'green' ? record.redTests : record.provedTests?.[id];
  const code = phase === 'green' && then !== undefined ? addedTests(projectDir, then, record.tests) : [];
  const added = [...code, ...data].map((path) => `${path} was added`);
  const what = [...changedTests(projectDir, then ?? {}), ...added].join(', ');
  if (what === '') return null;
  return phase === 'green' ? TDD_TEXTS.testsChanged(what) : TDD_TEXTS.testsWeakened(id, what);
}

/** Finds test files of proved scenarios that changed with this test; null without any. */
function testsOfOthers(record: TddRecord, scenario: TddScenario, tests: TestFiles, projectDir: string) {
  const { provedTests = {}, provedHeads = {} } = record;
  const changed = Object.entries(provedTests).flatMap(([id, then]) =>
    Object.keys(tests).flatMap((path) => {
      if (id === scenario.id || then[path] === undefined || isKept(then[path], tests[path])) return [];
      const isRewritten = !isGrown(projectDir, path, tests[path], provedHeads[id]?.[path]);
      return [{ id, path, isRewritten }];
    }),
  );
  const isRewritten = changed.some((one) => one.isRewritten);
  const meant = changed.filter((one) => one.isRewritten === isRewritten);
  const [paths, ids] = [meant.map(({ path }) => path), meant.map(({ id }) => id)];
  return meant.length === 0 ? null : { isRewritten, paths: [...new Set(paths)], ids: [...new Set(ids)] };
}

/** Returns the record after a proved phase, with the tests that prove it; `former` is the record before. */
function withTests(
  proved: TddRecord,
  former: TddRecord,
  id: string,
  phase: TddPhase,
  {
    redScripts,
    redTests = {},
    own,
    projectDir,
  }: Pick<TddRecord, 'redScripts' | 'redTests'> & { readonly own: TestFiles; readonly projectDir: string },
): TddRecord {
  // Data and mocks that the scenario did not add may change with the next one.
  const itsTests = ownOf(redTests, own);
  const wasComplete = isComplete(former, id);
  const tests = phase === 'green' ? testFiles(projectDir) : former.tests;
  const isNowProved = phase === 'green' || (phase === 'red' && wasComplete);
  const heads = isNowProved ? { [id]: headsOf(projectDir, itsTests) } : {};
  return {
    ...proved,
    provedTests: provedTestsAfter(former, id, phase, itsTests),
    provedHeads: { ...former.provedHeads, ...heads },
    // Proving a changed test of an earlier scenario does not affect the tests of the current one.
    ...(!wasComplete && redScripts && { redScripts }),
    ...(!wasComplete && { redTests }),
    ...(tests && { tests }),
  };
}

/** Returns the tests of all proved scenarios after a phase. A file shared by several may grow with the red test of one. */
function provedTestsAfter(
  record: TddRecord,
  id: string,
  phase: TddPhase,
  tests: TestFiles,
): NonNullable<TddRecord['provedTests']> {
  const { provedTests: proved = {} } = record;
  if (phase === 'refactored') return proved;
  if (phase === 'green') return { ...proved, [id]: tests };
  const others = Object.entries(proved).map(([of, then]) => {
    const now = Object.entries(then).map(([path, hash]) => [path, tests[path] ?? hash] as const);
    return [of, Object.fromEntries(now)] as const;
  });
  return { ...Object.fromEntries(others), ...(isComplete(record, id) && { [id]: tests }) };
}

/** Returns the record after a run; null if it proves nothing. */
function after(record: TddRecord, scenarioId: string, phase: TddPhase, run: ScenarioRun, at: string): TddRecord | null {
  const { problem, ended, output, bytes, exitCode } = run;
  if (problem === null && phase === 'red' && isComplete(record, scenarioId))
    return recordBroken(record, scenarioId, output);
  if (problem === null) {
    const entry: TddLogEntry = { scenarioId, phase, output, timestamp: at, bytes, exitCode: exitCode ?? 0 };
    return recordPhase(record, entry);
  }
  return phase === 'refactored' && ended ? recordBroken(record, scenarioId, output) : null;
}

function refusal(record: TddRecord, id: string | null, problem: string, notes: readonly string[]): PhaseAnswer {
  const meant = id === null ? scenarioAtWork(record) : (record.scenarios.find((one) => one.id === id) ?? null);
  const scenario = meant === null ? null : shown(record, meant);
  return { ok: false, ran: false, scenario, problem, output: '', bytes: 0, exitCode: null, failedTests: null, notes };
}

function answer(record: TddRecord, scenario: TddScenario, run: ScenarioRun, notes: readonly string[]): PhaseAnswer {
  const { ended: _, ...said } = run;
  return { ok: said.problem === null, ran: true, scenario: shown(record, scenario), ...said, notes };
}

function standing(record: TddRecord, scenario: TddScenario, phase: TddPhase, notes: readonly string[]): PhaseAnswer {
  const entry = record.log.findLast((one) => one.scenarioId === scenario.id && one.phase === phase);
  return {
    ok: true,
    ran: false,
    scenario: shown(record, scenario),
    problem: null,
    notes,
    output: entry?.output ?? '',
    bytes: entry?.bytes ?? 0,
    exitCode: entry?.exitCode ?? null,
    failedTests: null,
  };
}

function shown(record: TddRecord, { id, description, run }: TddScenario): NonNullable<PhaseAnswer['scenario']> {
  return { id, description, command: run, status: standingOf(record, id) };
}
