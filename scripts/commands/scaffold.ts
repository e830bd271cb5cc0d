import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { RalphError } from '../../src/core/ralph-error.ts';
import { bundleDir } from '../../src/install/bundle-dir.ts';
import type { Command } from './command.ts';
import { baseDir, newTaskFile, writeTaskFile } from './new-task-folder.ts';

/** The folders of templates/presets; the first is what a scaffold without a preset gets. */
export const PRESETS: readonly string[] = [
  ...['default', 'fix-tests', 'migration', 'research-report', 'security-audit', 'audit', 'tdd', 'plan'],
];

import { quoted } from '../../src/core/quoted.ts';

export const SCAFFOLD_COMMAND: Command = {
  name: 'scaffold',
  summary: 'Make a task folder with a RALPH.md to fill in.',
  usage: '[--preset P] NAME',
  help: `Makes NAME/RALPH.md below the current directory from a template, or from a preset: ${PRESETS.slice(1).join(', ')}. Quote a name with spaces. An existing RALPH.md is never overwritten, and nothing is written outside the current directory. Edit it, check it with main.cjs check NAME/RALPH.md, start it with main.cjs start --task NAME.`,
  options: { preset: { type: 'string', value: 'P', help: `One of ${PRESETS.slice(1).join(', ')}.` } },
  control: false,
  run(context) {
    const { values, positionals, forPeople, out } = context;
    const [name, ...more] = positionals;
    if (name === undefined) throw new RalphError('usage', 'name the task folder: main.cjs scaffold NAME.');
    if (more.length > 0) {
      throw new RalphError('usage', `scaffold takes one name, not ${positionals.length}. Quote a name with spaces.`);
    }
    const preset = presetNamed(values['preset']);
    const path = newTaskFile(baseDir(context), name);
    writeTaskFile(path, readFileSync(join(bundleDir(), 'templates', 'presets', preset, 'RALPH.md'), 'utf8'));
    const shown = relative(process.cwd(), path);
    out(
      forPeople
        ? `${shown} is there. Edit it, then: main.cjs check ${quoted(shown)}`
        : JSON.stringify({ success: true, path, preset }),
    );
    return 0;
  },
};

function presetNamed(value: unknown): string {
  const [usual = ''] = PRESETS;
  const preset = typeof value === 'string' ? value : usual;
  if (PRESETS.includes(preset)) return preset;
  throw new RalphError('usage', `there is no preset "${preset}". There are: ${PRESETS.slice(1).join(', ')}.`);
}
