import { type InitReport, initProject } from '../../install/init-project.ts';
import { bundleDir, refuseClientDir } from '../../install/places.ts';
import { isPluginEnabled, settingsSources } from '../../install/settings/settings-sources.ts';
import { uninitProject } from '../../install/uninit-project.ts';
import type { Command } from '../command.ts';
import { VERSION } from '../help.ts';

export const INIT_COMMAND: Command = {
  name: 'init',
  summary: 'Install ralph-loop into a project, for teams.',
  usage: '[--project DIR]',
  help: 'Installs ralph-loop into the current directory for a team that keeps it in the repository: program and skills in .claude/skills, hooks in .claude/hooks and .claude/settings.json, PROMPT.md and launchers in .claude/ralph. Your own changes are never overwritten. Run it again after an update; uninit removes the set-up.',
  example: 'ralph-loop init',
  control: true,
  run({ projectDir, env, answer }) {
    refuseClientDir(projectDir, env);
    const pluginEnabled = isPluginEnabled(settingsSources(projectDir, env, process.platform));
    const report = initProject({ projectDir, bundle: bundleDir(), version: VERSION, pluginEnabled });
    const notes = [...notesOn(report), ...(pluginEnabled ? [PLUGIN_NOTE] : [])];
    answer({ success: true, projectDir, ...report, notes }, () => forReading(projectDir, report, notes));
    return 0;
  },
};

const PLUGIN_NOTE =
  'The plugin ralph-loop is enabled here and registers the hooks; init registered none in .claude/settings.json.';

function notesOn({ kept, created }: InitReport): string[] {
  const hooks = kept.filter((path) => path.startsWith('.claude/hooks/') || path.startsWith('.claude/skills/'));
  return [
    ...(hooks.length === 0
      ? []
      : [
          `${hooks.join(', ')}: not installed by ralph-loop, or changed since, so left unchanged; a loop may not work with ${hooks.length === 1 ? 'it' : 'them'}. Move away what you do not need and run init again.`,
        ]),
    ...(created.includes('.claude/context/runtime/.gitignore')
      ? ['.claude/context/runtime has a .gitignore that keeps the state of loops out of version control.']
      : []),
  ];
}

const SETTINGS_WORDS = {
  created: 'created',
  changed: 'hooks added',
  unchanged: 'nothing to change',
  removed: 'removed, because it contained only our hooks',
} as const;

function forReading(projectDir: string, report: InitReport, notes: readonly string[]): string {
  const { created, updated, removed, kept, settings } = report;
  const done = created.length + updated.length === 0 ? `${projectDir} is already set up.` : `${projectDir} is set up.`;
  return [
    ...titled('Created', created),
    ...titled('Updated', updated),
    ...titled('Removed, no longer needed', removed),
    ...titled('Kept as you have them', kept),
    `.claude/settings.json: ${SETTINGS_WORDS[settings]}.`,
    ...notes,
    '',
    `${done} Next: write your task into .claude/ralph/PROMPT.md, then run .claude/ralph/ralph-audit.sh (ralph-audit.bat on Windows).`,
  ].join('\n');
}

function titled(title: string, paths: readonly string[]): string[] {
  return paths.length === 0 ? [] : [`${title}:`, ...paths.map((path) => `  ${path}`)];
}

export const UNINIT_COMMAND: Command = {
  name: 'uninit',
  summary: 'Remove what init created from a project.',
  usage: '[--project DIR]',
  help: 'Removes what init created and restores .claude/settings.json. Files that you changed stay, and so do the archive and the journals. It refuses while a loop is live.',
  example: 'ralph-loop uninit',
  control: true,
  run({ projectDir, env, answer }) {
    const { removed, kept, settings } = uninitProject(projectDir, env);
    const word = {
      removed: 'removed',
      restored: 'hooks removed',
      unchanged: 'unchanged, because it has none of our hooks',
    }[settings];
    answer({ success: true, projectDir, removed, kept, settings }, () =>
      [
        `${removed.length} files removed. .claude/settings.json: ${word}.`,
        ...titled('Kept, because you changed them or loops left data in them', kept),
      ].join('\n'),
    );
    return 0;
  },
};
