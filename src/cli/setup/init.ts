import { type InitReport, initProject } from '../../install/init-project.ts';
import { bundleDir, refuseClientDir } from '../../install/places.ts';
import { uninitProject } from '../../install/uninit-project.ts';
import type { Command } from '../command.ts';
import { VERSION } from '../help.ts';

export const INIT_COMMAND: Command = {
  name: 'init',
  summary: 'Set up a project: hooks, templates, registration.',
  usage: '[--project DIR]',
  help: 'Sets up the current directory: skills in .claude/skills, hooks in .claude/hooks and .claude/settings.json, PROMPT.md and launchers in .claude/ralph, memory and state in .claude/context. Your own changes are never overwritten. Run it again after an update; uninit removes the set-up.',
  example: 'ralph-loop init',
  options: {},
  control: true,
  run({ projectDir, env, answer }) {
    refuseClientDir(projectDir, env);
    const report = initProject({ projectDir, bundle: bundleDir(), version: VERSION });
    const notes = notesOn(report);
    answer({ success: true, projectDir, ...report, notes }, () => forReading(projectDir, report, notes));
    return 0;
  },
};

function notesOn({ kept, created }: InitReport): string[] {
  const hooks = kept.filter((path) => path.startsWith('.claude/hooks/') || path.startsWith('.claude/skills/'));
  return [
    ...(hooks.length === 0
      ? []
      : [
          `${hooks.join(', ')}: not ours, or changed since, so left alone; a loop may not work with ${hooks.length === 1 ? 'it' : 'them'}. Move away what you do not need and run init again.`,
        ]),
    ...(created.includes('.claude/context/runtime/.gitignore')
      ? ['.claude/context/runtime has a .gitignore that keeps the state of loops out of version control.']
      : []),
  ];
}

function forReading(projectDir: string, report: InitReport, notes: readonly string[]): string {
  const { created, updated, removed, kept, settings } = report;
  const lines = [
    ...grouped('Created', created),
    ...grouped('Updated', updated),
    ...grouped('Removed, needed no more', removed),
    ...grouped('Kept as you have them', kept),
    `.claude/settings.json: ${{ created: 'created', changed: 'hooks added', unchanged: 'hooks were there already' }[settings]}.`,
    ...notes,
  ];
  const done = created.length + updated.length === 0 ? `${projectDir} was set up already.` : `${projectDir} is set up.`;
  return [
    ...lines,
    '',
    `${done} Next: write your task into .claude/ralph/PROMPT.md, then run .claude/ralph/ralph-audit.sh (ralph-audit.bat on Windows).`,
  ].join('\n');
}

/** Folders whose files are counted, not listed. */
const MANY_FILES = ['.claude/skills/ralph-loop', '.claude/skills/ralph-draft', '.claude/hooks', '.claude/agents'];

function grouped(title: string, paths: readonly string[]): string[] {
  const folderOf = (path: string): string | undefined => MANY_FILES.find((folder) => path.startsWith(`${folder}/`));
  const counted = MANY_FILES.flatMap((folder) => {
    const inside = paths.filter((path) => folderOf(path) === folder);
    return inside.length > 1 ? [`${folder} (${inside.length} files)`] : inside;
  });
  const shown = [...counted, ...paths.filter((path) => folderOf(path) === undefined)];
  return shown.length === 0 ? [] : [`${title}:`, ...shown.map((path) => `  ${path}`)];
}

export const UNINIT_COMMAND: Command = {
  name: 'uninit',
  summary: 'Remove from a project what init created.',
  usage: '[--project DIR]',
  help: 'Removes what init created and restores .claude/settings.json. Files that you changed stay, and so do the archive and the journals. It refuses while a loop is live.',
  example: 'ralph-loop uninit',
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
