import type { CommandRule } from '../../core/schema/contract.ts';

/** A rule as people write it in the frontmatter, for messages and the journal. */
export function shownRule(rule: CommandRule): string {
  if (typeof rule === 'string') return rule;
  if ('pipeline' in rule) return `{pipeline: [${rule.pipeline.map(shownWord).join(', ')}]}`;
  const args = rule.args.length === 0 ? '' : `, args: [${rule.args.map(shownWord).join(', ')}]`;
  return `{command: ${shownWord(rule.command)}${args}}`;
}

function shownWord(word: string): string {
  return /^[\w./*|-]+$/.test(word) ? word : JSON.stringify(word);
}
