import { advise, type Message, RalphError } from '../../text/message.ts';
import { promptRefused } from '../named-client.ts';

/** What an option of the client would do to a loop. */
type Harm = 'place' | 'session' | 'print' | 'output' | 'hooks' | 'settings' | 'sources' | 'ends';

interface ClientOption {
  readonly names: readonly string[];
  /** Number of values that follow as words of their own; `many` takes all words up to the next option. */
  readonly values: 0 | 1 | 'optional' | 'many';
  readonly harm: Harm | null;
}

/**
 * Options of Claude Code 2.1.213 to 2.1.332 (its help, and those in its documentation), one kind a line: what each does to
 * a loop, its number of values, its names. An option that is not listed goes to the client, which refuses what it does not know.
 */
const OPTIONS: readonly ClientOption[] = `
place optional: -w,--worktree --tmux --cloud --remote --environment --desktop
place 0: --bg,--background
session optional: -r,--resume --from-pr --teleport
session 1: --session-id --resume-session-at --resume-drops-turn --rewind-files --parent-session-id --sdk-url --prefill
session 0: -c,--continue --fork-session --reply-on-resume --no-session-persistence
print 1: --input-format
print 0: -p,--print --replay-user-messages
output 1: --output-format --json-schema
output 0: --verbose --include-partial-messages --include-hook-events --forward-subagent-text
hooks 0: --bare --safe-mode
settings 1: --settings --managed-settings
sources 1: --setting-sources
ends 0: -h,--help -v,--version --init-only
- 1: --agent --agents --append-system-prompt --append-system-prompt-file --append-subagent-system-prompt --autocompact --advisor
- 1: --debug-file --effort --fallback-model --max-budget-usd --max-thinking-tokens --max-turns --model -n,--name --permission-mode
- 1: --permission-prompt-tool --permission-prompts --plugin-dir --plugin-dir-no-mcp --plugin-url --remote-control-session-name-prefix
- 1: --system-prompt --system-prompt-file --system-prompt-snapshot --task-budget --teammate-mode --thinking --thinking-display
- many: --add-dir --allowedTools,--allowed-tools --betas --channels --disallowedTools,--disallowed-tools --file --mcp-config --tools
- 0: --allow-dangerously-skip-permissions --ax-screen-reader --brief --chrome --no-chrome --dangerously-skip-permissions
- 0: --disable-slash-commands --exclude-dynamic-system-prompt-sections --ide --init --maintenance --restricted --strict-mcp-config`
  .trim()
  .split('\n')
  .flatMap((line) => {
    const [, harm = '-', values = '0', options = ''] = /^(\S+) (\S+): (.*)$/.exec(line) ?? [];
    return options.split(' ').map((names) => ({
      names: names.split(','),
      values: (values === '0' || values === '1' ? Number(values) : values) as ClientOption['values'],
      harm: harm === '-' ? null : (harm as Harm),
    }));
  });

const BY_NAME = new Map(OPTIONS.flatMap((option) => option.names.map((name) => [name, option] as const)));

/**
 * Throws RalphError `usage` for the first of the words after `--` that the loop's client must not get. Only `run` reads what
 * the client prints; the output of a session is the user's.
 */
export function requireClientArgs(words: readonly string[], command: 'run' | 'start'): void {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (!word.startsWith('-') || word === '-' || word === '--') throw promptRefused(word, 'Claude Code');
    const named = word.startsWith('--') ? [word.replace(/=.*$/s, '')] : lettersOf(word);
    for (const name of named) {
      const option = BY_NAME.get(name);
      const isHarmless = !option?.harm || (option.harm === 'output' && command === 'start');
      if (!isHarmless) throw new RalphError('usage', REFUSALS[option.harm](name));
    }
    const isAttached = word.startsWith('--') ? word.includes('=') : word.length > named.length + 1;
    if (!isAttached) at += valuesAfter(words, at, BY_NAME.get(named.at(-1) ?? ''));
  }
}

/** Returns the options of a word such as `-pc`, up to the one that takes the rest of the word as its value. */
function lettersOf(word: string): string[] {
  const letters = [...word.slice(1)].map((letter) => `-${letter}`);
  const last = letters.findIndex((name) => BY_NAME.get(name)?.values !== 0);
  return last === -1 ? letters : letters.slice(0, last + 1);
}

/** Returns how many words after an option are its values. An option that is not known may have one. */
function valuesAfter(words: readonly string[], at: number, option: ClientOption | undefined): number {
  const following = words.slice(at + 1).findIndex((word) => word.startsWith('-'));
  const free = following === -1 ? words.length - at - 1 : following;
  switch (option?.values) {
    case 0:
      return 0;
    // A value may begin with a dash.
    case 1:
      return 1;
    case 'many':
      return free;
    default:
      return Math.min(1, free);
  }
}

const REFUSALS: Readonly<Record<Harm, (option: string) => Message>> = {
  place: (option) =>
    advise(
      `-- ${option}: the agent would work where the loop does not look.`,
      "Use ralph-loop's own worktree",
      'run TASK --worktree',
    ),
  session: (option) =>
    advise(`-- ${option}: the loop chooses the sessions of Claude Code.`, 'Continue a loop where it stands', 'resume'),
  print: (option) =>
    advise(
      `-- ${option}: ralph-loop itself decides how Claude Code gets its prompt.`,
      'Launch it without a terminal',
      'start --launch --headless',
    ),
  output: (option) =>
    advise(
      `-- ${option}: ralph-loop reads what Claude Code prints and prints its own.`,
      'Get all events as JSON',
      'run TASK --json',
    ),
  hooks: (option) => ({
    text: `-- ${option}: Claude Code would run without hooks, so the loop could neither guard nor continue. Leave it out.`,
  }),
  settings: (option) => ({
    text: `-- ${option}: it would replace the settings with the loop's hooks. Write yours into .claude/settings.local.json.`,
  }),
  sources: (option) =>
    advise(
      `-- ${option}: the loop chooses the settings that Claude Code reads.`,
      "Read the user's as well",
      'run TASK --set isolation=client',
    ),
  ends: (option) => ({
    text: `-- ${option}: Claude Code would print and exit, and no agent would work. Leave it out.`,
  }),
};
