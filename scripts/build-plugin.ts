import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { codexPluginHooks } from '../src/hosts/codex/hooks.ts';
import { textInPlugin } from '../src/install/project-files.ts';
import { pluginRegistration } from '../src/install/settings/registration.ts';

/** Names in users' settings (`ralph-loop@ralph`), which never change. */
const PLUGIN = 'ralph-loop';
const MARKETPLACE = 'ralph';
const AUTHOR = { name: 'the ralph-loop maintainers' };
/** Other contents of each skill's folder: installers copy this folder and nothing else. */
const SKILLS: Readonly<Record<string, readonly string[]>> = {
  'ralph-loop': [
    'references/plans.md',
    'references/router-mode.md',
    'references/task-files.md',
    'references/test-first.md',
    'rules/ralph-loop.md',
    'templates/implementation-template.md',
  ],
  'ralph-draft': ['references/configuration-cookbook.md', 'references/prompt-patterns.md'],
};
/** Script for the agent's shell: the client puts bin/ of an enabled plugin on its PATH. A user may link to it. */
const PROGRAM = `#!/bin/sh
at=$0
while [ -L "$at" ]; do
  to=$(readlink "$at")
  case $to in /*) at=$to ;; *) at=$(dirname "$at")/$to ;; esac
done
exec "\${RALPH_NODE:-node}" "$(CDPATH= cd -P -- "$(dirname "$at")/.." && pwd -P)/scripts/main.cjs" "$@"
`;

/** Templates for people or the build, which the program does not read. */
const NOT_FOR_PROGRAM = ['templates/implementation-template.md', 'templates/plugin-readme.md'];

/** Writes the texts that the program has to contain, by path. */
export function writeTemplates(root: string, folder: string): void {
  const texts = ['SKILL.md', 'skills', 'references', 'templates']
    .flatMap((name) => textsBelow(root, name))
    .filter(([path]) => !NOT_FOR_PROGRAM.includes(path));
  writeFileSync(join(folder, 'templates.json'), JSON.stringify(Object.fromEntries(texts)));
}

function textsBelow(root: string, name: string): [path: string, text: string][] {
  if (name.includes('.')) return [[name, readFileSync(join(root, name), 'utf8')]];
  return readdirSync(join(root, name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      relative(root, join(entry.parentPath ?? entry.path, entry.name))
        .split(sep)
        .join('/'),
    )
    .sort()
    .map((path) => [path, readFileSync(join(root, path), 'utf8')]);
}

/** Makes dist/plugin a plugin of Claude Code and of Codex, and dist/ a marketplace for it. The version is that of package.json. */
export function writePlugin(root: string, dist: string): void {
  const { version, description, license, keywords, homepage, repository } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  ) as Package;
  const write = (path: string, content: string | object, mode = 0o644): void => {
    mkdirSync(dirname(join(dist, path)), { recursive: true });
    const text = typeof content === 'string' ? content : `${JSON.stringify(content, null, 2)}\n`;
    writeFileSync(join(dist, path), text, { mode });
  };
  const about = { description, author: AUTHOR, license, keywords, homepage, repository: repository?.url };
  write('plugin/.claude-plugin/plugin.json', {
    name: PLUGIN,
    displayName: PLUGIN,
    version,
    ...about,
    types: './types/index.d.ts',
  });
  write('plugin/hooks/hooks.json', { modules: ['./register.tsx'], hooks: pluginRegistration() });
  // Codex prefers these two, refuses a hooks file with other keys, and accepts no arguments of a command.
  const codex = { hooks: './hooks/codex.json', skills: './skills/' };
  write('plugin/.codex-plugin/plugin.json', { name: PLUGIN, version, ...about, ...codex });
  write('plugin/hooks/codex.json', { hooks: codexPluginHooks() });
  for (const file of ['hooks/register.tsx', 'types/index.d.ts']) {
    write(`plugin/${file}`, readFileSync(join(root, 'plugin', file), 'utf8'));
  }
  write('plugin/bin/ralph-loop', PROGRAM, 0o755);
  write('plugin/README.md', readFileSync(join(root, 'templates', 'plugin-readme.md'), 'utf8'));
  write('.claude-plugin/marketplace.json', {
    name: MARKETPLACE,
    owner: AUTHOR,
    metadata: { description },
    plugins: [{ name: PLUGIN, source: './plugin', description }],
  });
  for (const [skill, beside] of Object.entries(SKILLS)) {
    const sources = [
      ['SKILL.md', skill === PLUGIN ? 'SKILL.md' : `skills/${skill}/SKILL.md`],
      ...beside.map((path) => [path, path]),
    ];
    for (const [path = '', source = ''] of sources) {
      write(`plugin/skills/${skill}/${path}`, textInPlugin(readFileSync(join(root, source), 'utf8')));
    }
  }
}

interface Package {
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly keywords: readonly string[];
  readonly homepage?: string;
  readonly repository?: { readonly url: string };
}
