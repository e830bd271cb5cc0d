import { dirname, resolve } from 'node:path';
import { CONVENTIONAL_FORM, commitSubject, PLAIN_FORM, planName } from '../../engine/plan/commit-subject.ts';
import { planKey } from '../../engine/plan/task-order.ts';
import type { Sandbox } from '../../engine/schema/contract.ts';
import type { Confinement } from '../../sandbox/bubblewrap.ts';
import { acceptedForm } from '../../task/git/commit-form.ts';
import { changeByGit, runGit } from '../../task/git/run-git.ts';
import { readPlan } from '../../task/plan/read-plan.ts';
import { RalphError } from '../../text/message.ts';
import { PLAN_TEXTS } from '../plan/messages.ts';
import { readTaskFile } from './find-task.ts';
import type { Prepared, PreparedContract, StartRequest } from './stages.ts';

/**
 * Lets the programs of the repository that take part in each commit of a plan try it, in the loop's sandbox if it has one: the
 * one that signs, and the commit-msg hook with the messages of the next tasks. Returns the form of the messages that it accepts;
 * null for a loop without commits, and for one that an agent requests. Throws RalphError `task-invalid` if commits would fail.
 */
export async function tryCommits(
  { request, resolved, terms }: Prepared,
  say: (text: string) => void,
): Promise<string | null> {
  const { projectDir, env, plan } = request;
  if (plan == null || !request.consented) return null;
  const sandbox = terms.sandbox && (await confinement(projectDir, terms.sandbox, env));
  const unsigned = await whyUnsigned(projectDir, env, sandbox);
  if (unsigned !== null) throw new RalphError('task-invalid', PLAN_TEXTS.cannotSign(unsigned, sandbox !== undefined));
  const { commitMessage: wanted = PLAIN_FORM } = terms;
  const other = wanted === PLAIN_FORM ? CONVENTIONAL_FORM : PLAIN_FORM;
  const forms = resolved.settings.commitMessage === null ? [wanted, other] : [wanted];
  const tasks = nextTasks(projectDir, terms, plan);
  const subjects = (form: string): string[] => tasks.map((task) => commitSubject(form, task, planName(terms.taskPath)));
  const found = await acceptedForm(projectDir, subjects, forms, env, sandbox);
  if ('rejected' in found) throw new RalphError('task-invalid', PLAN_TEXTS.messageRejected(found.rejected));
  if (found.form !== wanted) say(PLAN_TEXTS.otherForm(wanted, found.form));
  return found.form;
}

/** Number of tasks whose commit messages the commit-msg hook judges before the start: linters take a second for each. */
const JUDGED_MESSAGES = 3;

function nextTasks(
  projectDir: string,
  { taskPath }: PreparedContract['terms'],
  { from, only }: NonNullable<StartRequest['plan']>,
) {
  const { tasks } = readPlan(readTaskFile(projectDir, taskPath).toString('utf8'));
  const open = tasks.filter(({ status }) => status === 'open');
  const first = open.findIndex(({ id }) => planKey(id) === planKey(only ?? from ?? ''));
  return open.slice(Math.max(0, first)).slice(0, only === undefined ? JUDGED_MESSAGES : 1);
}

/** Returns git's error if commits must be signed but cannot be, else null. May ask a present user for a passphrase. */
async function whyUnsigned(
  directory: string,
  env: NodeJS.ProcessEnv,
  sandbox: Confinement | undefined,
): Promise<string | null> {
  const wanted = await runGit(directory, ['config', '--type=bool', '--get', 'commit.gpgsign'], { env });
  if (wanted.kind !== 'answer' || wanted.text.trim() !== 'true') return null;
  const words = ['commit-tree', '-S', '-m', 'Can this be signed?', 'HEAD^{tree}'];
  const signed = await changeByGit({ directory, words, env, sandbox });
  return signed.ok ? null : signed.said;
}

async function confinement(directory: string, terms: Sandbox, env: NodeJS.ProcessEnv): Promise<Confinement> {
  const objects = await runGit(directory, ['rev-parse', '--git-path', 'objects'], { env });
  const gitDir = objects.kind === 'answer' ? dirname(resolve(directory, objects.text.trim())) : '';
  return { terms, writable: directory, readable: directory, gitDir };
}
