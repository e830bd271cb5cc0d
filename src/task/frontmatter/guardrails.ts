import * as z from 'zod';
import type { CommandRule, Guardrails } from '../../engine/schema/contract.ts';
import { guardedGlobProblem } from './key-problems.ts';
import { choice, described, flag, line, list, mapping, optional, patternProblem, ruledText } from './value-types.ts';

const PLAN_RULES = [
  ...(['push-main', 'publish', 'terraform', 'kubernetes-prod', 'docker-push', 'vercel-prod', 'fly-deploy'] as const),
  ...(['gcloud-deploy', 'aws-deploy', 'secrets'] as const),
] as const;

const PUBLISHED = 'A plan does not publish: only the user does.';
const DEPLOYED = 'A plan does not deploy to production: only the user does.';

function rule(command: string, ...args: string[]): CommandRule {
  return { command, args, reason: DEPLOYED };
}

/** Returns rules for write commands with an option that names a context or namespace prod*, in either order. */
function production(program: string, verbs: string, options: string): CommandRule[] {
  const named = `(?:(?:${options})(?:=|\\s+)|-n)["']?(?:[\\w./:-]*[./:_-])?prod`;
  return [
    `^${program}\\s(?:.*\\s)?${named}\\S*\\s(?:.*\\s)?(?:${verbs})(?:\\s|$)`,
    `^${program}\\s(?:.*\\s)?(?:${verbs})\\s(?:.*\\s)?${named}`,
  ];
}

const VERCEL = '^(?:(?:npx|yarn|yarn\\s+dlx|pnpm|bun)\\s+)?vercel(?:@\\S+)?\\s';
const BUILT_AND_PUSHED = '^(?:docker|podman|nerdctl)\\s(?:.*\\s)?(?:build|bake)\\s(?:.*\\s)?--push(?:\\s|=true|$)';

const RULES: Readonly<Record<(typeof PLAN_RULES)[number], readonly CommandRule[]>> = {
  // Evaluated by the guard: the target of a bare push depends on the repository's configuration.
  'push-main': [],
  publish: [
    { command: 'npm|pnpm|yarn|bun|lerna|cargo|poetry|uv|hatch|flit', args: ['publish'], reason: PUBLISHED },
    { command: 'yarn', args: ['npm', 'publish'], reason: PUBLISHED },
    { command: 'twine', args: ['upload'], reason: PUBLISHED },
  ],
  terraform: [rule('terraform|tofu|terragrunt', 'apply|destroy')],
  'kubernetes-prod': [
    ...production(
      'kubectl',
      'apply|create|delete|replace|patch|edit|set|scale|autoscale|rollout|run|expose|annotate|label|drain|cordon|uncordon|taint|cp|exec',
      '--context|--namespace|-n|--cluster',
    ),
    ...production('helm', 'install|upgrade|uninstall|delete|rollback', '--kube-context|--namespace|-n'),
  ],
  'docker-push': [
    rule('docker|podman|nerdctl', 'push'),
    rule('docker|podman', 'image|compose|manifest', 'push'),
    BUILT_AND_PUSHED,
  ],
  'vercel-prod': [
    `${VERCEL}(?:.*\\s)?--(?:prod(?:uction)?|target(?:=|\\s+)production)(?:\\s|=|$)`,
    `${VERCEL}\\s*promote(?:\\s|$)`,
  ],
  'fly-deploy': [rule('fly|flyctl', 'deploy')],
  'gcloud-deploy': [
    ...[rule('gcloud', '*', 'deploy'), rule('gcloud', '*', '*', 'deploy'), rule('gcloud', 'deploy', '*')],
    rule('gcloud', 'builds', 'submit'),
  ],
  'aws-deploy': [
    rule('aws', 'deploy', 'create-*|push'),
    rule('aws', 'cloudformation', 'deploy|create-stack|update-stack|delete-stack|execute-change-set'),
    rule('aws', 'lambda', 'update-function-code|publish-version|update-alias'),
    rule('aws', 'ecs', 'update-service|create-service|deploy|run-task'),
    rule('aws', 'elasticbeanstalk', 'update-environment|create-application-version'),
    rule('aws', 's3', 'sync'),
    rule('aws', 'amplify|apprunner', 'start-deployment|start-job|update-service'),
  ],
  secrets: [],
};

export function withPlanRules(guardrails: Guardrails): Guardrails {
  const lifted = guardrails.lifted ?? [];
  const held = PLAN_RULES.filter((name) => !lifted.includes(name));
  const secrets = 'policy:secret-bearing-paths';
  const names = held.includes('secrets') && !guardrails.protectedFiles.includes(secrets) ? [secrets] : [];
  return {
    ...guardrails,
    blockCommands: [...guardrails.blockCommands, ...held.flatMap((name) => RULES[name])],
    protectedFiles: [...guardrails.protectedFiles, ...names],
  };
}

const BLOCKED =
  'must be a pattern, or a mapping with command (and args, reason) or with pipeline (and reason), not both';

const pattern = () => ruledText('must be a pattern', 'pattern', patternProblem);
const guardedGlob = () => ruledText('must be a glob or a policy', 'glob', guardedGlobProblem);
const reason = optional(line(), 'Explanation for the model, shown with the rule.');

const blocked = z.union(
  [
    pattern(),
    z.strictObject(
      {
        command: described(line(), 'Name of the program, without its folder. Globs are allowed: git, npm*.'),
        args: optional(
          list(line(), 'words'),
          'The first words after the program, in order; options are skipped. Globs are allowed.',
        ),
        reason,
      },
      { error: BLOCKED },
    ),
    z.strictObject(
      {
        pipeline: described(
          list(line(), 'programs').min(2, { error: 'must have at least two programs' }),
          'The programs of a pipeline, in order; a|b matches either.',
        ),
        reason,
      },
      { error: BLOCKED },
    ),
  ],
  { error: BLOCKED },
);

const shellPolicy = mapping({
  mode: described(choice('allowlist', 'blocklist'), 'allowlist: only commands that "allow" matches may run.'),
  allow: optional(
    list(pattern(), 'patterns'),
    'RE2 patterns. Every simple command of a call must match one of them as a whole.',
  ),
});

export const guardrails = mapping({
  block_commands: optional(
    list(blocked, 'patterns and rules'),
    'Shell commands that are refused: RE2 patterns, matched anywhere in the command, or precise rules.',
  ),
  protected_files: optional(
    list(guardedGlob(), 'globs and policies'),
    'Files that must not be written: globs, policy:secret-bearing-paths, policy:persistence-paths.',
  ),
  private_files: optional(
    list(guardedGlob(), 'globs and policies'),
    'Files that must not even be read: globs, policy:secret-bearing-paths, policy:persistence-paths.',
  ),
  shell_policy: optional(shellPolicy, 'An allowlist of shell commands; none by default.'),
  lift: optional(
    list(choice(...PLAN_RULES), 'names of rules'),
    'Plans: names of the default rules that do not apply here.',
  ),
  strict: optional(flag(), 'Also refuse whatever cannot be analysed, such as code for an interpreter.'),
});
