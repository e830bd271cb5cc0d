import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CONVENTIONAL_FORM, commitSubject, PLAIN_FORM } from '../../engine/plan/commit-subject.ts';
import type { Confinement } from '../../sandbox/bubblewrap.ts';
import { namesIn, readRegularFile } from '../../state/files/regular-file.ts';
import { changeByGit, runGit } from './run-git.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface Titled {
  readonly id: string;
  readonly title: string;
}

/**
 * Chooses the form of the commit messages of a plan: the given one, else that of the repository. Its commit-msg hook judges
 * the messages of the next tasks before any model call: `rejected` is what it says, if no form passes.
 */
export async function chooseCommitForm(
  projectDir: string,
  plan: string,
  tasks: readonly Titled[],
  given: string | null,
  env: Environment,
): Promise<{ readonly form: string } | { readonly rejected: string }> {
  const isConventional =
    given === null && (hasCommitlint(projectDir) || (await isHistoryConventional(projectDir, env)));
  const defaults = isConventional ? [CONVENTIONAL_FORM, PLAIN_FORM] : [PLAIN_FORM, CONVENTIONAL_FORM];
  const forms = given === null ? defaults : [given];
  let said = '';
  for (const form of forms) {
    const rejected = await firstRejected(
      projectDir,
      tasks.map((task) => commitSubject(form, task, plan)),
      env,
    );
    if (rejected === null) return { form };
    said ||= rejected;
  }
  return { rejected: said };
}

async function firstRejected(directory: string, subjects: readonly string[], env: Environment): Promise<string | null> {
  for (const subject of subjects) {
    const said = await whyRejected(directory, `${subject}\n\nProof: the checks pass.\n`, env);
    if (said !== null) return said;
  }
  return null;
}

/** Returns what the commit-msg hook says against a message; null if it accepts it, or if there is none. */
export async function whyRejected(
  directory: string,
  message: string,
  env: Environment,
  sandbox?: Confinement,
): Promise<string | null> {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-message-'));
  try {
    const file = join(folder, 'COMMIT_EDITMSG');
    writeFileSync(file, message);
    const words = ['hook', 'run', '--ignore-missing', 'commit-msg', '--', file];
    const judged = await changeByGit({ directory, words, env, hooks: true, sandbox });
    // git before 2.36 has no such command, and says so.
    return judged.ok || /is not a git command/.test(judged.said) ? null : judged.said;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function hasCommitlint(projectDir: string): boolean {
  if (namesIn(projectDir).some((name) => /^(?:\.commitlintrc(?:\.\w+)?|commitlint\.config\.\w+)$/.test(name)))
    return true;
  return /"(?:commitlint|@commitlint\/config-conventional)"\s*:/.test(
    readRegularFile(join(projectDir, 'package.json')) ?? '',
  );
}

const CONVENTIONAL = /^(?:build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(?:\([^)]*\))?!?: (.)/;
const HISTORY = 20;
const FEWEST = 5;

/** Returns whether most of the last commits are conventional, in lower case as their rules ask, and not a plan's own. */
async function isHistoryConventional(directory: string, env: Environment): Promise<boolean> {
  const log = await runGit(directory, ['log', '--no-merges', '--format=%s', `-${HISTORY}`], { env });
  const subjects = log.kind === 'answer' ? log.text.split('\n').filter((line) => line !== '') : [];
  const fitting = subjects.filter((subject) => {
    const [, first = ''] = CONVENTIONAL.exec(subject) ?? [];
    return first !== '' && first === first.toLowerCase();
  });
  return subjects.length >= FEWEST && fitting.length * 10 >= subjects.length * 7;
}
