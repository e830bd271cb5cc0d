import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { GuardRules } from '../../../src/guard/guard.ts';

export const STATE = '.claude/context/runtime/ralph-state.json';
export const MAIN = '.claude/skills/ralph-loop/scripts/main.cjs';
export const HOOK = '.claude/hooks/ralph-stop-hook.cjs';
export const LAUNCHER = '.claude/ralph/ralph-audit.sh';

export interface GuardProject {
  readonly root: string;
  readonly dir: string;
  readonly home: string;
  readonly rules: GuardRules;
  /** Puts the project's paths into a command of the tables. */
  readonly fill: (command: string) => string;
}

/** The commands of the tables name the project as it is: a path that a shell would read otherwise serves none of them. */
const PLACE = /^[\w./-]+$/.test(tmpdir()) ? tmpdir() : '/tmp';

/** A project on disk with a running loop's files, and files of its own that look alike. */
export function createGuardProject(): GuardProject {
  const root = realpathSync(mkdtempSync(join(PLACE, 'guard-')));
  const dir = join(root, 'project');
  const home = join(root, 'home');
  for (const file of [
    STATE,
    MAIN,
    HOOK,
    LAUNCHER,
    '.claude/context/runtime/ralph-archive/old.json',
    '.claude/context/runtime/ralph-events.jsonl',
    '.claude/context/memory/learnings.md',
    '.claude/settings.json',
    '.claude/settings.local.json',
    '.claude/ralph/PROMPT.md',
    '.claude/ralph/guardrails.md',
    '.claude/hooks/my-own-hook.sh',
    '.vscode/settings.json',
    'src/ralph-state.ts',
    'src/index.ts',
    'src/settings.json',
    'scripts/main.cjs',
    'dist/main.cjs',
    'docs/guide.md',
    'backup/.claude/settings.json',
    'package.json',
    'README.md',
  ]) {
    mkdirSync(dirname(join(dir, file)), { recursive: true });
    writeFileSync(join(dir, file), file);
  }
  for (const file of ['.claude/settings.json', '.local/state/ralph-loop/0f3a/contract.json', '.bashrc']) {
    mkdirSync(dirname(join(home, file)), { recursive: true });
    writeFileSync(join(home, file), file);
  }
  const rules: GuardRules = {
    projectDir: dir,
    home,
    ownFiles: [
      ...[HOOK, LAUNCHER, '.claude/settings.json', '.claude/settings.local.json'].map((file) => join(dir, file)),
      join(dir, '.claude/context/runtime/ralph-archive'),
      join(dir, '.claude/context/runtime/ralph-events.jsonl'),
      join(dir, '.claude/skills/ralph-loop'),
      join(home, '.claude/settings.json'),
      join(home, '.local/state/ralph-loop'),
    ],
    ownGlobs: [{ dir: join(dir, '.claude/context/runtime'), prefix: 'ralph-state' }],
    controlProgram: [join(dir, MAIN), join(dir, LAUNCHER)],
    agentCommands: [
      'router',
      'tdd',
      'status',
      'explain',
      'check',
      'logs',
      'signs',
      '--help',
      '--version',
      'help',
      'list',
    ],
    caseInsensitive: false,
  };
  const fill = (command: string): string =>
    command
      .replaceAll('@PROJECT@', dir)
      .replaceAll('@HOME@', home)
      .replaceAll('@STATE@', STATE)
      .replaceAll('@MAIN@', MAIN)
      .replaceAll('@HOOK@', HOOK)
      .replaceAll('@LAUNCHER@', LAUNCHER);
  return { root, dir, home, rules, fill };
}
