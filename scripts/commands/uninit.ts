import { uninitProject } from '../../src/install/uninit-project.ts';
import type { Command } from './command.ts';

export const UNINIT_COMMAND: Command = {
  name: 'uninit',
  summary: 'Take out of this project what init put in.',
  usage: '[--project DIR]',
  help: `Takes out exactly what init put in. .claude/settings.json becomes what it was before, byte for byte where
nobody changed it since. Files that were changed since stay, and so does what loops have left behind (archive,
journals). Refuses while a loop is live.`,
  options: {},
  control: true,
  run({ projectDir, env, forPeople, out }) {
    const { removed, kept, settings } = uninitProject(projectDir, env);
    if (!forPeople) {
      out(JSON.stringify({ success: true, projectDir, removed, kept, settings }));
      return 0;
    }
    const word = { removed: 'removed', restored: 'hooks taken out', unchanged: 'nothing of ours was in it' }[settings];
    out(
      [
        `${removed.length} files removed. .claude/settings.json: ${word}.`,
        ...(kept.length === 0
          ? []
          : ['Kept, because they were changed or hold what loops left:', ...kept.map((path) => `  ${path}`)]),
      ].join('\n'),
    );
    return 0;
  },
};
