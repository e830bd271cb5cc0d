import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { changeSettings, doctorFinds, STATE, stopHook } from './support/doctor-case.ts';

doctorFinds([
  {
    when: 'a hook file is missing',
    mutate: (p) => rmSync(join(p.dir, '.claude/skills/ralph-loop/scripts/ralph-hooks.cjs')),
    check: 'hook-files',
    level: 'error',
    message: /missing: \.claude\/skills\/ralph-loop\/scripts\/ralph-hooks\.cjs/,
    fixed: true,
  },
  {
    when: 'a hook file was changed',
    mutate: (p) => p.write('.claude/hooks/ralph-stop-hook.cjs', 'process.exit(0)\n'),
    check: 'hook-files',
    level: 'error',
    message: /ralph-stop-hook\.cjs does not match this bundle/,
  },
  {
    when: 'the runtime directory is a file',
    mutate: (p) => {
      rmSync(join(p.dir, '.claude/context/runtime'), { recursive: true });
      p.write('.claude/context/runtime', '');
    },
    check: 'runtime-dir',
    level: 'error',
    message: /the state of loops cannot be written/,
  },
  {
    when: 'there is no task file',
    mutate: (p) => rmSync(join(p.dir, '.claude/ralph/PROMPT.md')),
    check: 'task-file',
    level: 'error',
    message: /PROMPT\.md is missing/,
  },
  {
    when: 'the task file is empty',
    mutate: (p) => p.write('.claude/ralph/PROMPT.md', '\n'),
    check: 'task-file',
    level: 'error',
    message: /PROMPT\.md is empty/,
  },
  {
    when: 'the task file is still the template',
    mutate: (p) => {
      rmSync(join(p.dir, '.claude/ralph/PROMPT.md'));
      p.ralph(['init']);
    },
    check: 'task-file',
    level: 'warning',
    message: /is still the template/,
  },
  {
    when: 'a setting of the task file is wrong',
    mutate: (p) => p.write('.claude/ralph/PROMPT.md', '---\nmax_iterations: 0\n---\n# Task\n'),
    check: 'task-file',
    level: 'error',
    message: /PROMPT\.md:2: max_iterations/,
  },
  {
    when: 'nothing enforces the validation commands in the text',
    mutate: (p) => p.write('.claude/ralph/PROMPT.md', '# Task\n\n## Validation Commands\n\n- npm test\n'),
    check: 'task-file',
    level: 'warning',
    message: /nothing enforces this "Validation Commands" section/,
  },
  {
    when: 'a variable of the environment is wrong',
    mutate: () => ({ RALPH_MAX_ITERATIONS: '1000' }),
    check: 'loop-settings',
    level: 'error',
    message: /RALPH_MAX_ITERATIONS in the environment: max_iterations /,
  },
  {
    when: 'the config of the project is broken',
    mutate: (p) => p.write('.claude/ralph/config.json', '{'),
    check: 'loop-settings',
    level: 'error',
    message: /config\.json is not valid JSON/,
  },
  {
    when: 'the state file cannot be read',
    mutate: (p) => p.write(STATE, '{"half":'),
    check: 'state-file',
    level: 'warning',
    message: /ralph-state\.json cannot be used/,
    fix: /ralph-loop reset/,
  },
  {
    when: 'a newer version wrote the state file',
    mutate: (p) => p.write(STATE, { schemaVersion: 999 }),
    check: 'state-file',
    level: 'error',
    message: /newer ralph-loop/,
  },
  {
    when: 'the installed hook does not answer',
    mutate: (p) => p.write('.claude/hooks/ralph-stop-hook.cjs', 'process.exit(0)\n'),
    check: 'self-test',
    level: 'error',
    message: /should send the task back, but it printed nothing/,
  },
  {
    when: 'the installed hook speaks in sessions without a loop',
    mutate: (p) =>
      changeSettings(p, (settings) => {
        stopHook(settings).command =
          `[ "$RALPH_ACTIVE" = 1 ] || exit 0; echo loud; exec true "$CLAUDE_PROJECT_DIR/.claude/hooks/ralph-stop-hook.cjs"`;
      }),
    check: 'self-test',
    level: 'error',
    message: /should send the task back, but loud/,
    fixed: true,
  },
]);
