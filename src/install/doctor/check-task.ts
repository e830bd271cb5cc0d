import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkTaskFile } from '../../task/check-task-file.ts';
import { DEFAULT_TASK } from '../../task/default-task.ts';
import { readText } from '../read-text.ts';
import { type Examined, type Finding, fine } from './finding.ts';

const CHECK = 'task-file';

/** The task file: there, filled in, and without problems. */
export function checkTask({ projectDir, bundle, settingsProblem }: Examined): Finding[] {
  const text = readText(join(projectDir, DEFAULT_TASK));
  if (text === null || text.trim() === '') {
    const message = `${DEFAULT_TASK} is ${text === null ? 'missing' : 'empty'}.`;
    return [
      { check: CHECK, level: 'error', message, mend: `write your task into it; main.cjs init makes one to fill in.` },
    ];
  }
  const { problems } = checkTaskFile(DEFAULT_TASK, text);
  const findings = problems.map(
    ({ line, message, severity }): Finding => ({
      check: CHECK,
      level: severity,
      message: `${DEFAULT_TASK}${line === null ? '' : `:${line}`}: ${message}`,
      mend: 'mend it there; main.cjs check shows all problems.',
    }),
  );
  if (settingsProblem !== null && !findings.some(({ level }) => level === 'error')) {
    findings.push({
      check: 'loop-settings',
      level: 'error',
      message: settingsProblem,
      mend: 'mend it where it stands.',
    });
  }
  if (text === template(bundle)) {
    const message = `${DEFAULT_TASK} is still the template.`;
    findings.push({ check: CHECK, level: 'warning', message, mend: 'write your task into it.' });
  }
  return findings.length > 0 ? findings : [fine(CHECK, `${DEFAULT_TASK} has no problems.`)];
}

function template(bundle: string): string | null {
  try {
    return readFileSync(join(bundle, 'templates', 'PROMPT.md'), 'utf8');
  } catch {
    return null;
  }
}
