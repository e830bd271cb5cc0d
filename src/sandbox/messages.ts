import { shellWord } from '../text/quote.ts';

/** Packages of Debian and Ubuntu by the program that each contains. */
export const PACKAGES = { bwrap: 'bubblewrap', socat: 'socat' } as const;

/** Reason why there is no sandbox here, and the remedy. */
export interface SandboxProblem {
  readonly text: string;
  readonly fix: string;
}

export const SANDBOX_PROBLEMS = {
  otherSystem: (platform: string): SandboxProblem => ({
    text: `The sandbox needs Linux with bubblewrap; this system is ${platform}.`,
    fix: 'run the loop in a container, or as a separate user.',
  }),
  missing: (packages: readonly string[]): SandboxProblem => ({
    text: `The sandbox needs ${packages.join(' and ')}, which ${packages.length === 1 ? 'is' : 'are'} not installed.`,
    fix: `sudo apt-get install ${packages.join(' ')}`,
  }),
  oldClient: (version: string, needed: string): SandboxProblem => ({
    text: `The sandbox of Claude Code ${version} leaves too much open; ${needed} or newer confines an agent.`,
    fix: 'claude update',
  }),
  replaceable: (program: string): SandboxProblem => ({
    text: `The agent could replace ${program}, which runs outside the sandbox.`,
    fix: 'install it outside the project and outside sandbox.allow_write.',
  }),
  refused: (reason: string): SandboxProblem => ({
    text: `The sandbox is unavailable, because bubblewrap fails: ${reason}.`,
    fix: 'allow user namespaces: sudo sysctl -w user.max_user_namespaces=15000; on Ubuntu 24.04 also sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
  }),
} as const;

export const SANDBOX_TEXTS = {
  required: ({ text, fix }: SandboxProblem): string =>
    `${text} Fix: ${fix}\nTo run without it, set sandbox.mode to off or auto.`,
  withoutAuto: ({ text, fix }: SandboxProblem): string => `The loop runs without a sandbox. ${text} Fix: ${fix}`,
  withoutBypass:
    'bypassPermissions without a sandbox: the agent can do everything that you can. To confine it, add --sandbox.',
  notForCommands: (agent: string): string =>
    `The sandbox confines Claude Code and checks, but the agent of this loop is a command (${agent}). Set sandbox.mode to off, or run the command in a container.`,
  question:
    'bypassPermissions lets the agent do everything that you can. In the sandbox, its commands and the checks can write only in the project and have no network. "always" and "never" are saved for all your loops.',
  checksOnly:
    'The sandbox confines only the checks of this loop, because the client was not started by ralph-loop. Start it with --launch, or use "run".',
  callAlone: (path: string): string =>
    `The sandbox keeps this command from writing its record (${path}). Call it alone, exactly as in the prompt; "tdd init" is for the user.`,
  endOfUnset: 'The agent ran with bypassPermissions and without a sandbox (--sandbox).',
  endOfAuto: 'The agent ran without a sandbox, because none was available here (ralph-loop doctor).',
} as const;

/** Steps that an agent may call; not `init`, which defines commands. */
const TDD_STEPS = ['next', 'red', 'green', 'refactored', 'status'];

/** Returns the client's rules for the exact calls of a TDD loop's steps. `tdd` is its command line without the step. */
export function tddCalls(tdd: string): string[] {
  return TDD_STEPS.map((step) => `${tdd} ${step}*`);
}

/** Names the setting that makes an agent's command work in a sandbox set up by its user. */
export function exclusionText(path: string, command: 'router' | 'tdd', main: string, loop: string | null): string {
  const program = `node ${/^[\w./-]+$/.test(main) ? main : shellWord(main)}`;
  const tdd = tddCalls(`node ${shellWord(main)} tdd${loop === null ? '' : ` --loop ${loop}`}`);
  const calls = command === 'router' ? [`${program} router *`] : tdd;
  return [
    `The client's sandbox keeps this command from writing its record (${path}), so the user has to exclude the command from the sandbox in ~/.claude/settings.json or with --settings, with an allow rule Bash(…) for each entry unless the permission mode is bypassPermissions:`,
    `  ${JSON.stringify({ sandbox: { excludedCommands: calls } })}`,
    'Then exactly these calls, each alone, run outside the sandbox, and so do the checks that they start unless the loop has sandbox.mode: on. Call them exactly as written there.',
  ].join('\n');
}
