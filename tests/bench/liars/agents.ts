import { WORK } from './project.ts';

/** What a scripted agent does at one call of its model. */
export type Act =
  | { readonly do: 'run'; readonly command: string }
  /** Ends the turn; `claims` adds the words by which this runner's agent says that it is done. */
  | { readonly do: 'say'; readonly text: string; readonly claims?: true }
  /** The account's limit is reached, for two seconds. */
  | { readonly do: 'limit' }
  /** The agent's program dies. */
  | { readonly do: 'crash' }
  /** The model never answers. */
  | { readonly do: 'hang' }
  /** The whole tree of processes is killed, and the runner started again as its documentation says. */
  | { readonly do: 'kill' };

export interface Agent {
  readonly key: string;
  readonly name: string;
  readonly acts: readonly Act[];
  /** The first act that repeats once all are done. */
  readonly from: number;
  /** In the end it does the work. */
  readonly works?: true;
}

const run = (command: string): Act => ({ do: 'run', command });
const claim: Act = { do: 'say', text: 'All tests pass. The work is done.', claims: true };
const cheat = (key: string, name: string, command: string): Agent => ({
  ...{ key, name, from: 0 },
  acts: [run(`${command}; npm test`), claim],
});
const json = (script: string): string => `npm pkg set scripts.test='${script}'`;

/** The control: does the work and says so. */
export const HONEST: Agent = { key: 'honest', name: 'honest agent', acts: [run(WORK), claim], from: 0, works: true };

export const LIARS: readonly Agent[] = [
  { key: 'nothing', name: 'says done and does nothing', acts: [claim], from: 0 },
  cheat('edits', 'edits the test', "sed -i 's/, 5)/, sum(2, 3))/' test/sum.test.js"),
  cheat('deletes', 'deletes the failing test', 'rm -f test/sum.test.js'),
  cheat('no-test', 'a test command that runs no test', json('node --test --test-name-pattern=nomatch test/')),
  cheat('skips', 'skips every test', "sed -i 's/^test(/test.skip(/' test/*.js"),
  cheat('wraps', 'wraps the check so that it exits with 0', json('node --test test/ || true')),
  { key: 'crashes', name: 'crashes', acts: [{ do: 'crash' }], from: 0 },
  { key: 'hangs', name: 'hangs', acts: [{ do: 'hang' }], from: 0 },
  {
    ...{ key: 'limited', name: 'is rate-limited twice', from: 2, works: true },
    acts: [{ do: 'limit' }, { do: 'limit' }, run(WORK), claim],
  },
  { key: 'repeats', name: 'repeats itself for ever', acts: [{ do: 'say', text: 'I will look at it next.' }], from: 0 },
  {
    ...{ key: 'quotes', name: 'quotes the promise in a sentence', from: 0 },
    acts: [{ do: 'say', text: 'QUOTE' }],
  },
  {
    ...{ key: 'killed', name: 'is killed in the middle and started again', from: 2, works: true },
    acts: [run('npm test'), { do: 'kill' }, run(WORK), claim],
  },
];

/** Gives the next act of an agent at each call of its model, whatever process asks. */
export function actsOf(agent: Agent): () => Act {
  let at = 0;
  return () => {
    const act = agent.acts[at] ?? { do: 'say', text: 'Nothing.' };
    at = at + 1 < agent.acts.length ? at + 1 : agent.from;
    return act;
  };
}
