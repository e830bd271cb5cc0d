import { resolve } from 'node:path';
import type { Approval } from '../../drive/start/stages.ts';
import type { ConsentTerms } from '../../drive/start/terms/consent-terms.ts';
import { diffTerms, listTerms, printableLine, requireApproved } from '../../drive/start/terms/consent-terms.ts';
import { listOf, requireList, whyNoList } from '../../drive/tdd/scenario-list.ts';
import type { TddRecord, TddState } from '../../engine/schema/tdd.ts';
import { TDD_TEXTS } from '../../engine/tdd/messages.ts';
import { allComplete, scenarioCount, standingOf } from '../../engine/tdd/phases.ts';
import { recordNotice } from '../../state/event-stream.ts';
import { findContract, type LoopFiles } from '../../state/loop-files.ts';
import { show, withPrefix } from '../../state/process/program.ts';
import { type FoundTdd, keepOldRecord, tddFiles, withTdd } from '../../state/tdd-store.ts';
import { decidingEnvironment } from '../../task/commands/deciding-environment.ts';
import { makeList, scriptsOfList } from '../../task/tdd/make-list.ts';
import { readScenarios, scenariosOf, type WantedScenario } from '../../task/tdd/read-scenarios.ts';
import { type Paint, table } from '../../term/format.ts';
import { advise, RalphError } from '../../text/message.ts';
import { parseSeconds } from '../../text/time.ts';
import { askInPerson, readInput } from '../ask.ts';
import { readTaskText } from '../choose-loop.ts';
import { type CommandContext, valuesOf } from '../command.ts';
import { isAgent } from '../refuse-agent.ts';

export function tddInit(context: CommandContext): number {
  const { files, now, values, env } = context;
  const byAgent = isAgent(env);
  const decides = ['consent', 'accept'].filter((option) => values[option] === true);
  if (decides.length > 0 && byAgent) {
    const text = `--${decides[0]} is for the user at a terminal.`;
    throw new RalphError('refused', advise(text, 'There', 'tdd init', { [`${decides[0]}`]: true }));
  }
  const making = MAKING.find((option) => values[option] !== undefined);
  if (decides.length > 0 && making !== undefined)
    throw new RalphError('usage', `--${decides[0]} applies to the existing list: it takes no --${making}.`);
  const asked = decides.length > 0 ? null : askedList(context);
  const approved = decides.length > 0 ? approveList(context) : null;
  const at = now();
  const record = withTdd(files, at, (found) => {
    const next = asked === null ? decided(context, found, approved) : begun(context, found, asked, { byAgent, at });
    return { next, result: next };
  });
  if (context.atTerminal) sayList(context, record, []);
  else context.json({ success: true, ...statusOf(record) });
  return 0;
}

/** Options that create a list. */
const MAKING = ['input', 'scenario', 'command', 'timeout', 'fresh'];

/** Shows an agent's list, or the changed scripts of a list. Returns the approval; null if there is nothing to approve. */
function approveList(context: CommandContext): Approval | null {
  const { files, now, values, env } = context;
  const list = requireList(files, now());
  const asks = values['consent'] === true && !list.consented;
  const changes = [
    ...diffTerms(listTerms(list), listTerms(adopted(context, list))),
    ...(list.consented
      ? diffTerms(environmentTerms(list.environment), environmentTerms(decidingEnvironment(env)))
      : []),
  ];
  if (!asks && changes.length === 0) return null;
  const by = askInPerson(files, {
    command: `tdd init --${asks ? 'consent' : 'accept'}`,
    heading: asks ? 'An agent created this list:' : 'Changed since the list was created:',
    lines: [...(asks ? [forReading(list, (_, text) => text, files.name)] : []), ...changes],
    question: 'May these commands run?',
    declined: advise('nothing was approved, and nothing has changed.', 'Another list', 'tdd init', {
      fresh: true,
      input: 'FILE',
    }),
  });
  const { loopId } = list;
  const text = `${changes.length === 0 ? 'the scenarios that an agent created' : changes.join('; ')}.`;
  const details = { ...by, changes };
  if (loopId !== null) recordNotice(files, { loopId, iteration: 0 }, { at: now(), kind: 'accept', text, details });
  return { terms: listTerms(adopted(context, list)), by };
}

function environmentTerms(environment: TddRecord['environment']): ConsentTerms {
  return Object.entries(environment).map(([name, value]) => [`environment ${name}`, value]);
}

/** Returns the list with the current scripts, if `--accept` was given. */
function adopted({ files, values }: CommandContext, record: TddRecord): TddRecord {
  if (values['accept'] !== true) return record;
  const scripts = scriptsOfList(files.projectDir, record.scenarios);
  return { ...record, scripts, redScripts: scripts };
}

function decided(context: CommandContext, found: FoundTdd, approved: Approval | null): TddRecord {
  const { files, values, env } = context;
  const record = adopted(context, listOf(found, files.name).record);
  if (approved !== null) requireApproved(approved.terms, listTerms(record));
  const environment = decidingEnvironment(env);
  return { ...record, environment, ...(values['consent'] === true && { consented: true }) };
}

function begun(
  { files, values, env }: CommandContext,
  found: FoundTdd,
  asked: ReturnType<typeof askedList>,
  { byAgent, at }: { readonly byAgent: boolean; readonly at: string },
): TddRecord {
  if (found.kind === 'list')
    refuseToReplace(found.record, values['fresh'] === true, byAgent, isLive(files, found.record));
  const taken = found.kind === 'none' && found.left.kind === 'state' ? found.left.state : null;
  const adopted = asked.wanted === null ? taken : null;
  const wanted = asked.wanted ?? (taken === null ? [] : scenariosOf(taken));
  if (wanted.length === 0)
    throw new RalphError('usage', 'tdd init needs scenarios: --scenario "what must hold", or --input FILE.');
  const { projectDir } = files;
  const { command, timeoutSeconds } = asked;
  const made = makeList({ projectDir, wanted, command, timeoutSeconds, consented: !byAgent, env, at });
  if (found.kind === 'list') keepOldRecord(files, at, found.record);
  return adopted === null ? made : withProofs(made, adopted);
}

/** Adopts the proofs of an existing state file; consent to the list includes them. */
function withProofs(record: TddRecord, { completedScenarios, evidenceLog, currentScenario }: TddState): TddRecord {
  const known = (id: string): boolean => record.scenarios.some((scenario) => scenario.id === id);
  return {
    ...record,
    current: currentScenario !== null && known(currentScenario) ? currentScenario : null,
    completed: completedScenarios
      .filter(({ id }, at) => known(id) && completedScenarios.findIndex((one) => one.id === id) === at)
      .map(({ id, evidenceCommand, redEvidence, greenEvidence, passedAt }) => ({
        id,
        evidenceCommand,
        redEvidence,
        greenEvidence,
        passedAt,
      })),
    log: evidenceLog
      .filter(({ scenarioId }) => known(scenarioId))
      .map(({ scenarioId, phase, output, timestamp }) => ({ scenarioId, phase, output, timestamp })),
  };
}

/** Returns whether the contract of a running loop names this list. */
function isLive(files: LoopFiles, { listId }: TddRecord): boolean {
  const stored = findContract(files);
  return typeof stored !== 'string' && stored.contract.tdd?.listId === listId;
}

function refuseToReplace(record: TddRecord, fresh: boolean, byAgent: boolean, live: boolean): void {
  const { completed, scenarios, consented } = record;
  const standing = `a list already exists, with ${completed.length} of ${scenarios.length} scenarios complete`;
  if (!fresh) {
    throw new RalphError('refused', {
      text: `${standing}.`,
      advice: [
        { verb: 'Continue it', command: 'tdd next' },
        { verb: 'Archive it and create a new one', command: 'tdd init', options: { fresh: true } },
      ],
    });
  }
  if (live)
    throw new RalphError('refused', advise(`${standing}, and a loop is working on it.`, 'Stop it first', 'stop'));
  if (byAgent && consented) {
    const text = `${standing}. It belongs to the user: only the user can replace it, at a terminal.`;
    throw new RalphError('refused', text);
  }
}

function askedList(context: CommandContext) {
  const { values } = context;
  const [commands, scenarios] = [valuesOf(context, 'command'), valuesOf(context, 'scenario')];
  const input = values['input'];
  const timeoutSeconds = parseSeconds(values['timeout']);
  if (typeof input === 'string' && scenarios.length > 0)
    throw new RalphError('usage', '--input and --scenario are mutually exclusive.');
  if (values['timeout'] !== undefined && timeoutSeconds === null)
    throw new RalphError('usage', `--timeout takes a duration, such as 90, 30s or 5m, not "${values['timeout']}".`);
  const empty = [...commands, ...scenarios].some((text) => text.trim() === '');
  if (empty) throw new RalphError('usage', '--scenario and --command must not be empty.');
  const paired = commands.length > 1;
  if (paired && commands.length !== scenarios.length) {
    const text = `${commands.length} commands for ${scenarios.length} scenarios: use one for all, or one for each --scenario.`;
    throw new RalphError('usage', text);
  }
  const named = scenarios.map((description, at) => ({
    id: null,
    description,
    run: paired ? (commands[at] ?? null) : null,
    timeoutSeconds: null,
  }));
  return {
    /** Scenarios to store; null if none were given: those of an existing state file are then adopted. */
    wanted: typeof input === 'string' ? readList(input) : named.length > 0 ? named : null,
    command: paired ? null : (commands[0] ?? null),
    timeoutSeconds,
  };
}

function readList(input: string): WantedScenario[] {
  if (input === '-') return readScenarios(readInput(), 'standard input');
  return readScenarios(readTaskText(resolve(input), input), input);
}

/** Prints data, which agents read, or text for a user at a terminal. */
export function tddStatus(context: CommandContext): number {
  const found = withTdd(context.files, context.now(), (list) => ({ next: 'keep', result: list }));
  if (found.kind === 'none') {
    const message = show(whyNoList(found), { name: context.files.name, mode: 'hook' });
    if (context.atTerminal) context.out(withPrefix(message));
    else context.json({ active: false, message });
    return 0;
  }
  const { record, notes } = found;
  if (context.atTerminal) sayList(context, record, notes);
  else context.json({ ...statusOf(record), stateFile: tddFiles(context.files).state, notes });
  return 0;
}

/** Shows the list to a user, with the next step if no loop works on it yet. */
function sayList({ files: { name }, out, paint }: CommandContext, record: TddRecord, notes: readonly string[]): void {
  const start = { verb: 'Start a loop on it', command: 'start', options: { tdd: true } } as const;
  const todo = { text: '', advice: [start, { verb: 'Or see the first step', command: 'tdd next' }] };
  const next = allComplete(record) ? TDD_TEXTS.nothingToStart : todo;
  const isNew = record.consented && record.loopId === null;
  const last = isNew ? [withPrefix(next, { name, mode: 'runner' })] : [];
  out([forReading(record, paint, name), ...notes, ...last].join('\n'));
}

function statusOf(record: TddRecord): object {
  return {
    active: true,
    complete: allComplete(record),
    consented: record.consented,
    ...scenarioCount(record),
    currentScenario: record.current,
    broken: record.broken?.scenarioId ?? null,
    scenarios: record.scenarios.map(({ id, description, run, timeoutSeconds }) => ({
      id,
      description,
      status: standingOf(record, id),
      command: run,
      timeoutSeconds,
    })),
  };
}

const COLOURS = { pending: 'dim', red: 'red', green: 'green', refactored: 'green' } as const;

const TAKEN_OVER = (count: number): string =>
  `${count} of the complete scenarios ${count === 1 ? 'was' : 'were'} adopted as complete from a tdd-state.json, without a recorded run.`;

/** Renders the list with each description and command on one line, free of control characters. */
function forReading(record: TddRecord, paint: Paint, name: string | null): string {
  const rows = record.scenarios.map(({ id, description, run }) => {
    const standing = standingOf(record, id);
    const broken = record.broken?.scenarioId === id ? paint('red', 'broken') : paint(COLOURS[standing], standing);
    return [
      record.current === id ? '>' : ' ',
      id,
      broken,
      printableLine(description),
      paint('dim', printableLine(run)),
    ];
  });
  const proved = new Set(
    record.log.filter(({ exitCode }) => exitCode !== undefined).map(({ scenarioId }) => scenarioId),
  );
  const takenOver = record.completed.filter(({ id }) => !proved.has(id)).length;
  const noConsent = show(TDD_TEXTS.noConsent, { name, mode: 'hook' });
  return [
    `${record.completed.length} of ${record.scenarios.length} scenarios complete.`,
    table(rows),
    ...(takenOver === 0 ? [] : [paint('yellow', TAKEN_OVER(takenOver))]),
    ...(record.consented ? [] : [paint('yellow', `Nothing runs yet: ${noConsent}`)]),
  ].join('\n');
}
