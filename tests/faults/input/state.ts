import { CLOSED_BREAKER } from '../../../src/engine/policy/breaker.ts';
import { SCHEMA_VERSION } from '../../../src/engine/schema/constants.ts';
import { identityOf } from '../../../src/state/process/identity.ts';
import { buildContract } from '../../../src/task/settings/build-contract.ts';
import { anyState } from '../../support/arbitraries/any-state.ts';
import { policy } from '../../support/arbitraries/arbitraries.ts';
import { terms } from '../../support/contract-terms.ts';
import fc from '../../support/property.ts';
import { SESSION } from './payload.ts';
import { anyText, type Content, damage, mutated, mutation, UNDAMAGED } from './text.ts';

export const LOOP = 'loop-1';

/** The files that say what loop there is; null where there is none. */
export interface LoopOnDisk {
  readonly state: Content | null;
  readonly contract: Content | null;
}

const { pid: clientPid, startedAt: clientStartedAt } = identityOf(process.pid);
const CLIENTS = { mine: { clientPid, clientStartedAt }, gone: { clientPid: 4_000_000, clientStartedAt: 'then' } };

/** A loop that has hardly begun: no limit holds for it yet. */
const EARLY = {
  iteration: 0,
  breaker: CLOSED_BREAKER,
  usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null, costBaseUsd: null },
};

const mutations = fc.array(mutation, { minLength: 1, maxLength: 3 });
const instant = fc.constantFrom<unknown>('2026-02-28T10:00:00Z', '2026-02-28T10:00:00.123Z', 'soon', 5);

/** Contracts as `start` writes them, of this loop or another, with waits that are over at once. */
const contract = fc
  .tuple(
    policy,
    fc.constantFrom(LOOP, LOOP, LOOP, LOOP, LOOP, LOOP, LOOP, 'loop-2'),
    fc.constantFrom(null, '2.1.330', '2.0.0'),
    fc.constantFrom(true, true, true, true, true, true, true, false),
  )
  .map(([chosen, loopId, clientVersion, consented]) => {
    const idle = chosen.idle && { ...chosen.idle, delayMs: 1, maxDelayMs: 2, watch: ['src/**'] };
    return buildContract(terms('/project', [], { loopId, clientVersion, consented, policy: { ...chosen, idle } }));
  });

/** What makes a state this session's own running loop, each part in most cases. */
const own = fc
  .record({
    loopId: fc.constantFrom(LOOP, LOOP, LOOP, LOOP, LOOP, LOOP, LOOP, 'loop-2'),
    mode: fc.constantFrom(
      ...(['hook', 'hook', 'hook', 'hook', 'hook', 'hook', 'hook', 'hook', 'runner', 'router'] as const),
    ),
    sessionId: fc.constantFrom(SESSION, SESSION, SESSION, SESSION, SESSION, SESSION, null, 'session-2'),
    stopRequested: fc.constantFrom(false, false, false, false, false, false, true),
    taskPath: fc.constantFrom('.claude/ralph/PROMPT.md', '.claude/ralph/PROMPT.md', '.claude/ralph/PROMPT.md', '\0'),
    running: fc.constantFrom(true, true, false),
    early: fc.constantFrom(true, true, false),
    client: fc.constantFrom(null, 'mine' as const, 'gone' as const),
  })
  .map(({ running, early, client, ...rest }) => ({
    ...rest,
    ...(running ? { status: 'running' } : {}),
    ...(early ? EARLY : {}),
    ...(client === null ? {} : CLIENTS[client]),
  }));

const fourKeys = fc.record({
  iteration: fc.nat({ max: 30 }),
  startedAt: instant,
  lastRunAt: instant,
  lastFindingsCount: fc.constantFrom<unknown>(3, null, 'unknown'),
});

/** State files of every kind beside the contracts that can lie there. */
export const loopOnDisk: fc.Arbitrary<LoopOnDisk> = fc
  .record({
    kind: fc.oneof(
      { weight: 20, arbitrary: fc.constant('own' as const) },
      { weight: 10, arbitrary: fc.constantFrom(...(['any', 'mutated', 'mutated', 'four-keys'] as const)) },
      { weight: 5, arbitrary: fc.constantFrom(...(['mutated four keys', 'newer', 'text', 'none'] as const)) },
    ),
    state: anyState,
    own,
    fourKeys,
    text: anyText,
    stateMutations: mutations,
    stateDamage: fc.oneof({ weight: 9, arbitrary: fc.constant(UNDAMAGED) }, { weight: 2, arbitrary: damage }),
    contract,
    contractKind: fc.constantFrom(
      ...(['whole', 'whole', 'whole', 'whole', 'whole', 'none', 'none', 'mutated', 'damaged'] as const),
    ),
    contractMutations: mutations,
    contractDamage: damage,
    agree: fc.boolean(),
    rewritten: fc.constantFrom(false, false, false, false, false, true),
  })
  .map((made) => {
    const { contract: stored, contractKind, agree } = made;
    const contractHash = contractKind === 'none' && agree ? null : stored.hash;
    const { maxIterations } = stored.contract.policy;
    const counted = made.rewritten ? {} : { maxIterations, startedAt: '2026-02-28T09:00:00Z' };
    const value = stateValue(made, { ...made.state, ...made.own, ...counted, contractHash });
    const kept = contractKind === 'mutated' ? mutated(stored, made.contractMutations) : stored;
    return {
      state: value === null ? null : { value, damage: made.stateDamage },
      contract:
        contractKind === 'none'
          ? null
          : { value: kept, damage: contractKind === 'damaged' ? made.contractDamage : UNDAMAGED },
    };
  });

interface Made {
  readonly kind: 'own' | 'any' | 'mutated' | 'four-keys' | 'mutated four keys' | 'newer' | 'text' | 'none';
  readonly state: object;
  readonly fourKeys: object;
  readonly text: string;
  readonly stateMutations: Parameters<typeof mutated>[1];
}

function stateValue({ kind, state, fourKeys: four, text, stateMutations }: Made, mine: object): object | string | null {
  switch (kind) {
    case 'own':
      return mine;
    case 'any':
      return state;
    case 'mutated':
      return mutated(mine, stateMutations);
    case 'four-keys':
      return four;
    case 'mutated four keys':
      return mutated(four, stateMutations);
    case 'newer':
      return { ...mine, schemaVersion: SCHEMA_VERSION + 1 };
    case 'text':
      return text;
    case 'none':
      return null;
    default:
      return kind satisfies never;
  }
}
