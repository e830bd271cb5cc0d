import { totalCost } from '../../engine/policy/budget.ts';
import { findEndedContract } from '../../state/loop-files.ts';
import { counted, dollarText } from '../../text/figures.ts';
import { excerpt } from '../../text/quote.ts';
import { redact } from '../../text/redact/redact.ts';
import { describeLoop } from '../status/loop-report.ts';
import { commandOf } from '../status/proof-record.ts';
import { tipOf, userGit } from '../worktree/repository.ts';
import { readWorktreeRecord, worktreeLoop, worktreePlace } from '../worktree/worktree-place.ts';
import type { Where } from './batch.ts';

/** Maximum number of changed files that are listed. */
const MOST_FILES = 50;

/**
 * Returns what proved the work of an ended loop, as Markdown for others: its checks before and after, proof, files and cost,
 * without output. Read from records outside the project; '' if unknown.
 */
export function provedText(projectDir: string, name: string, env: NodeJS.ProcessEnv): string {
  const files = worktreeLoop(projectDir, name, env);
  const { lastState: state } = describeLoop(files, env);
  const stored = state && findEndedContract(files, state.loopId);
  if (state?.status !== 'ended' || !stored) return '';
  const { contract } = stored;
  const before = new Map((contract.baseline?.checks ?? []).map((check) => [check.name, check.outcome]));
  const rows = (state.checks ?? []).map((check) => {
    const run = commandOf(contract, check.name);
    return `| ${codeCell(run ?? check.name)} | ${before.get(check.name) ?? 'not run'} | ${check.outcome === 'ok' ? 'passed' : check.outcome} |`;
  });
  const { base = null } = readWorktreeRecord(projectDir, name, env) ?? {};
  const tip = tipOf(projectDir, worktreePlace(projectDir, name).branch, env);
  const git = base !== null && tip !== null ? userGit(projectDir, ['diff', '--stat=100', base, tip], env).text : '';
  const stat = git
    .trimEnd()
    .split('\n')
    .slice(-MOST_FILES - 1)
    .join('\n');
  const cost = totalCost(state.usage);
  return [
    rows.length === 0
      ? 'No check proves this work.'
      : ['| check | before | after |', '| --- | --- | --- |', ...rows].join('\n'),
    `Proof: ${state.ended.proof ?? 'none'}. ${counted(state.iteration, 'iteration')}, cost ${cost === null ? 'unknown' : dollarText(cost)}.`,
    stat === '' ? '' : `\`\`\`\n${inCode(redact(stat))}\n\`\`\``,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** Maximum number of characters of a published text. */
const MOST = 2000;

/**
 * Returns a text for the public as a code block, so that an agent's words mention nobody, close no issue and are not markup:
 * secrets masked, without paths of this machine and without control and direction characters.
 */
export function quotedForOthers({ projectDir, env }: Pick<Where, 'projectDir' | 'env'>, text: string): string {
  const home = env['HOME'] ?? '';
  const named = redact(text).replaceAll(projectDir, '.');
  const plain = inCode(home.length > 1 ? named.replaceAll(home, '~') : named);
  return `\`\`\`\n${excerpt(plain, MOST)}\n\`\`\``;
}

/** Returns a text that cannot end the code in which it is quoted. */
function inCode(text: string): string {
  return visible(text).replaceAll('`', "'");
}

/** Returns a text without control and direction characters, except line ends. */
function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]/gu, (found) => (found === '\n' ? found : ' '));
}

/**
 * Returns a table cell as code: a command may name packages such as @scope/name, which would mention a person.
 * Backticks cannot hold every text: in a table, there is no way to write `\|` inside them.
 */
export function codeCell(text: string): string {
  const plain = visible(redact(text).slice(0, 200)).replace(/\s+/g, ' ').trim();
  // Characters that could form markup, a mention, an issue or an address are written as numbers.
  return `<code>${plain.replace(/[!-+:-@[-`{-~]|(?<=www)\./gi, (found) => `&#${found.charCodeAt(0)};`)}</code>`;
}
