import type { Left, SessionOptions, Step } from './probe.ts';

type ClientName = 'Claude Code' | 'Codex';

export interface Fact {
  /** Value without which the product does not work as documented; absent for what it handles either way. */
  readonly relied?: string;
  readonly of: (left: Left) => string;
}

/** One session of a client, and what it shows. */
interface Probe {
  /** Clients that have what it is about; absent for all. */
  readonly only?: ClientName;
  readonly steps: readonly Step[];
  readonly options?: SessionOptions;
  readonly facts: Readonly<Record<string, Fact>>;
}

const yes = (is: boolean): string => (is ? 'yes' : 'no');
const eventsOf = ({ calls }: Left): string => calls.map((call) => call.hook_event_name).join(', ');
const callsOf = (left: Left, event: string) => left.calls.filter((call) => call.hook_event_name === event);
const fieldsOf = (left: Left, event: string): string =>
  Object.keys(callsOf(left, event)[0] ?? {})
    .filter((name) => name !== 'clientPid')
    .toSorted()
    .join(', ');
const inRequest = (left: Left, index: number, text: string): number =>
  (left.requests[index] ?? '').split(text).length - 1;

/** Returns a fact about a call whose hook answered in one way: whether the call ran. */
const ran = (way: string, relied?: 'ran' | 'denied'): Fact => ({
  ...(relied !== undefined && { relied }),
  of: ({ files }) => (files.includes(`by-${way}`) ? 'ran' : 'denied'),
});

const WAYS = ['exit2', 'json', 'unknown', 'mute2', 'crash', 'slow'] as const;
const BLOCKS = 12;

/** Facts about clients that the design rests on, each by one small session against a scripted model. */
export const PROBES: readonly Probe[] = [
  {
    steps: [{ run: 'touch by-nothing' }, { say: 'One.' }, { say: 'Two.' }],
    options: { blocks: 1, said: { systemMessage: 'SAID-AT-THE-END' } },
    facts: {
      'hooks of a turn that calls a tool and is blocked once': {
        relied: 'SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, Stop, Stop',
        of: eventsOf,
      },
      'a blocked Stop is followed by another model call': {
        relied: 'yes',
        of: ({ requests }) => yes(requests.length === 3),
      },
      'times that the reason of a block reaches the model': { of: (left) => String(inRequest(left, 2, 'REASON-1')) },
      'the reason of a block reaches the model as the output of a hook': {
        of: ({ requests }) => yes(requests[2]?.includes('is the output of a hook') === true),
      },
      'last_assistant_message of the two Stops': {
        relied: 'One. Two.',
        of: (left) =>
          callsOf(left, 'Stop')
            .map((call) => call['last_assistant_message'])
            .join(' '),
      },
      'stop_hook_active of the two Stops': {
        of: (left) =>
          callsOf(left, 'Stop')
            .map((call) => call['stop_hook_active'])
            .join(' '),
      },
      'fields of a Stop': { of: (left) => fieldsOf(left, 'Stop') },
      'fields before a call': { of: (left) => fieldsOf(left, 'PreToolUse') },
      'name and input of a shell call': {
        relied: 'Bash: touch by-nothing',
        of: (left) => {
          const [call] = callsOf(left, 'PreToolUse');
          return `${call?.['tool_name']}: ${(call?.['tool_input'] as { command?: string } | undefined)?.command}`;
        },
      },
      'hooks know the process of their client': {
        of: ({ calls }) => yes(calls.every((call) => call['clientPid'] !== null)),
      },
      'prompt_id in the payload of a Stop': { of: (left) => yes('prompt_id' in (callsOf(left, 'Stop')[0] ?? {})) },
      'the stream shows the message of a Stop hook': {
        of: ({ lines }) => yes(JSON.stringify(lines).includes('SAID-AT-THE-END')),
      },
      'kinds of lines in the stream': {
        of: ({ lines }) => [...new Set(lines.map(({ type }) => String(type)))].toSorted().join(', '),
      },
      'fields of the line that ends the stream': {
        of: ({ lines }) =>
          Object.keys(lines.at(-1) ?? {})
            .toSorted()
            .join(', '),
      },
    },
  },
  {
    steps: [...[...WAYS, 'context'].map((way) => ({ run: `touch by-${way}` })), { say: 'Over.' }],
    facts: {
      'a hook that exits with 2 and says why': ran('exit2', 'denied'),
      'a hook that exits with 2 and says nothing': ran('mute2'),
      'a hook that denies in JSON': ran('json'),
      'a hook that denies in JSON with an unknown field': ran('unknown'),
      'a hook that crashes': ran('crash'),
      'a hook that exceeds its timeout': ran('slow'),
      'the model reads why a call is denied': {
        relied: 'yes',
        of: (left) => yes(inRequest(left, 1, 'DENIED-BY-EXIT') > 0),
      },
      'the model reads a context from before and after a call': {
        relied: 'yes',
        of: ({ requests }) =>
          yes(['Pre', 'Post'].every((when) => requests.at(-1)?.includes(`CONTEXT-OF-${when}ToolUse`) === true)),
      },
    },
  },
  {
    only: 'Claude Code',
    steps: [{ run: 'touch by-crash' }, { run: 'touch by-signal' }, { say: 'Over.' }],
    options: { blocksOnFailure: true },
    facts: {
      'a hook that crashes, with onFailure: block': ran('crash'),
      'a hook that a signal ends, with onFailure: block': ran('signal'),
    },
  },
  {
    only: 'Claude Code',
    steps: [{ run: 'touch by-over' }, { say: 'Over.' }],
    facts: {
      'hooks of a turn that a denial with continue: false ends': {
        relied: 'SessionStart, UserPromptSubmit, PreToolUse',
        of: eventsOf,
      },
    },
  },
  {
    steps: Array.from({ length: BLOCKS + 1 }, (_, index) => ({ say: `Text ${index}.` })),
    options: { blocks: BLOCKS },
    facts: { 'Stops that it lets a hook block in a row without a tool call': { of: blocksInARow } },
  },
  {
    only: 'Claude Code',
    steps: Array.from({ length: BLOCKS + 1 }, (_, index) => ({ say: `Text ${index}.` })),
    options: { blocks: BLOCKS, env: { CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '0' } },
    facts: {
      'the same with CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0': { relied: `${BLOCKS} or more`, of: blocksInARow },
    },
  },
  {
    steps: [{ status: 400 }],
    facts: {
      'hooks of a turn whose request is refused': { of: eventsOf },
      'exit code of a turn whose request is refused': { relied: '1', of: ({ code }) => String(code) },
    },
  },
  {
    only: 'Codex',
    steps: [{ run: 'touch by-json' }, { say: 'Over.' }],
    options: { untrusted: true },
    facts: {
      'hooks of a session that does not trust them': { relied: 'none', of: (left) => eventsOf(left) || 'none' },
    },
  },
  {
    only: 'Codex',
    steps: [{ own: 'heredoc patch' }, { own: 'terminal' }, { own: 'typed' }, { say: 'Over.' }],
    facts: {
      'hooks around a patch in a here-document': { of: (left) => toolsOf(left, 'heredoc') },
      'hooks around text that is typed into a running command': {
        relied: 'none',
        of: (left) => (left.files.includes('typed') ? toolsOf(left, 'touch typed') : 'it did not run'),
      },
    },
  },
  {
    only: 'Codex',
    steps: [{ own: 'nested patch' }, { say: 'Over.' }],
    facts: {
      'hooks around a patch inside a program': {
        relied: 'PreToolUse apply_patch, PostToolUse apply_patch',
        of: (left) => toolsOf(left, 'nested'),
      },
    },
  },
];

function toolsOf({ calls }: Left, text: string): string {
  const those = calls.filter((call) => JSON.stringify(call['tool_input'] ?? '').includes(text));
  return those.map((call) => `${call.hook_event_name} ${call['tool_name']}`).join(', ') || 'none';
}

function blocksInARow({ requests }: Left): string {
  return requests.length > BLOCKS ? `${BLOCKS} or more` : String(requests.length - 1);
}

/** Returns the probes of a client. */
export const probesOf = (name: string): readonly Probe[] =>
  PROBES.filter(({ only }) => only === undefined || only === name);
