import { codexOutput, type HookOutput } from './codex/hook-output.ts';
import type { HookAnswer } from './hook-io/stdio.ts';
import type { HostName } from './host.ts';

/** How the hooks of a client are answered. */
export interface HookHost {
  readonly name: HostName;
  readonly output: (event: string, answer: HookAnswer) => HookOutput;
  /** The client lets its agent type into a running command without asking a hook. */
  readonly typesUnasked: boolean;
  /** Its input names the working directory of the call; a hook itself runs in that of the session. */
  readonly namesCallDir: boolean;
  /** The client takes no message from its runner while it works: its hooks deliver steering. */
  readonly hooksSteer: boolean;
}

const HOSTS: Readonly<Record<HostName, HookHost>> = {
  'claude-code': {
    name: 'claude-code',
    output: (_, answer) => ({ stdout: JSON.stringify(answer), stderr: '', code: 0 }),
    typesUnasked: false,
    namesCallDir: false,
    hooksSteer: false,
  },
  codex: { name: 'codex', output: codexOutput, typesUnasked: true, namesCallDir: true, hooksSteer: true },
};

/** Returns the host that the words of a hook's command name with `--host NAME`; null for one that is not known. */
export function hookHost(words: readonly string[]): HookHost | null {
  const at = words.indexOf('--host');
  if (at === -1) return HOSTS['claude-code'];
  const name = words[at + 1] ?? '';
  return Object.hasOwn(HOSTS, name) ? HOSTS[name as HostName] : null;
}
