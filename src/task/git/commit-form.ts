import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CONVENTIONAL_FORM, PLAIN_FORM } from '../../engine/plan/commit-subject.ts';
import type { Confinement } from '../../sandbox/bubblewrap.ts';
import { namesIn, readRegularFile } from '../../state/files/regular-file.ts';
import { changeByGit, runGit } from './run-git.ts';

/** Returns the form that the repository's commit messages appear to have. Runs nothing of the repository. */
export async function formOfRepository(projectDir: string, env: NodeJS.ProcessEnv): Promise<string> {
  const isConventional = hasCommitlint(projectDir) || (await isHistoryConventional(projectDir, env));
  return isConventional ? CONVENTIONAL_FORM : PLAIN_FORM;
}

/**
 * Returns the first of these forms in which the repository's commit-msg hook accepts the messages of all tasks. If none passes,
 * `rejected` is the hook's output.
 */
export async function acceptedForm(
  directory: string,
  subjectsIn: (form: string) => readonly string[],
  forms: readonly string[],
  env: NodeJS.ProcessEnv,
  sandbox: Confinement | undefined,
): Promise<{ readonly form: string } | { readonly rejected: string }> {
  let said = '';
  for (const form of forms) {
    let rejected: string | null = null;
    for (const subject of subjectsIn(form))
      rejected ??= await whyRejected(directory, `${subject}\n\nProof: the checks pass.\n`, env, sandbox);
    if (rejected === null) return { form };
    said ||= rejected;
  }
  return { rejected: said };
}

/** Returns the commit-msg hook's objection to a message; null if it accepts it, or if there is no hook. */
export async function whyRejected(
  directory: string,
  message: string,
  env: NodeJS.ProcessEnv,
  sandbox?: Confinement,
): Promise<string | null> {
  // A sandbox has its own temporary folder, but shares the git folder of the commit.
  const folder = mkdtempSync(join(sandbox?.gitDir || tmpdir(), 'ralph-message-'));
  try {
    const file = join(folder, 'COMMIT_EDITMSG');
    writeFileSync(file, message);
    const words = ['hook', 'run', '--ignore-missing', 'commit-msg', '--', file];
    const judged = await changeByGit({ directory, words, env, hooks: true, sandbox });
    // Before version 2.36, git has no such command, and says so.
    return judged.ok || /is not a git command/.test(judged.said) ? null : judged.said;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function hasCommitlint(projectDir: string): boolean {
  const manifest = readRegularFile(join(projectDir, 'package.json')) ?? '';
  const isNamed = /"(?:commitlint|@commitlint\/config-conventional)"\s*:/.test(manifest);
  return isNamed || namesIn(projectDir).some((name) => CONFIGURES.test(name));
}

const CONFIGURES = /^(?:\.commitlintrc(?:\.\w+)?|commitlint\.config\.\w+)$/;
const CONVENTIONAL = /^(?:build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(?:\([^)]*\))?!?: (.)/;
const HISTORY = 20;
const FEWEST = 5;

/** Returns whether most recent commits, other than a plan's own, are conventional, with a lower-case subject. */
async function isHistoryConventional(directory: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const log = await runGit(directory, ['log', '--no-merges', '--format=%s', `-${HISTORY}`], { env });
  const subjects = log.kind === 'answer' ? log.text.split('\n').filter((line) => line !== '') : [];
  const fitting = subjects.filter((subject) => {
    const [, first = ''] = CONVENTIONAL.exec(subject) ?? [];
    return first !== '' && first === first.toLowerCase();
  });
  return subjects.length >= FEWEST && fitting.length * 10 >= subjects.length * 7;
}
