import type { ContractTerms } from '../../src/task/settings/build-contract.ts';
import { plainValues } from '../../src/task/settings/read-values.ts';

export const {
  policy: DEFAULT_POLICY,
  settings: { guardrails: NO_GUARDRAILS },
} = plainValues();

/** The terms of a loop in `projectDir` with these validation commands. */
export function terms(
  projectDir: string,
  validation: ContractTerms['validation'],
  more: Partial<ContractTerms> = {},
): ContractTerms {
  return {
    loopId: 'loop-1',
    name: null,
    projectDir,
    taskPath: '.claude/ralph/PROMPT.md',
    task: null,
    guardrails: NO_GUARDRAILS,
    createdAt: '2026-02-28T10:00:00Z',
    frontmatter: '',
    head: '',
    policy: DEFAULT_POLICY,
    validation,
    findingsLog: '.ralph/findings.md',
    consented: true,
    clientVersion: null,
    headless: false,
    flags: {},
    bundleDir: null,
    ...more,
  };
}
