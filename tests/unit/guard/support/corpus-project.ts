import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CommandRule, Guardrails } from '../../../../src/engine/schema/contract.ts';
import { createGuardProject, type GuardProject } from '../guard-project.ts';
import { writeGitIndex } from './git-index.ts';

const FILES = [
  ...['.env', '.env.production', '.npmrc', '.gitignore', 'README.md', 'package.json', 'deploy/prod.yaml'],
  ...['config/app.pem', 'config/app.json', 'secrets/token.txt', 'deploy/staging.yaml', 'src/index.ts', 'docs/guide.md'],
  ...['dist/main.js', 'node_modules/x/test/key.pem', 'src/secretary.ts', 'src/credential-form.tsx', 'srv/a'],
];
const TRACKED = ['.gitignore', 'README.md', 'package.json', 'deploy', 'src', 'docs'];

/** A repository with secrets in it, some of its files tracked by git. */
export function createCorpusProject(): GuardProject {
  const project = createGuardProject();
  for (const [root, files] of [
    [project.dir, FILES],
    [project.home, ['.ssh/id_rsa', '.aws/credentials', '.netrc']],
  ] as const) {
    for (const file of files) {
      mkdirSync(dirname(join(root, file)), { recursive: true });
      writeFileSync(join(root, file), file);
    }
  }
  writeGitIndex(
    project.dir,
    FILES.filter((file) => TRACKED.some((path) => file === path || file.startsWith(`${path}/`))),
  );
  return project;
}

const PRECISE: readonly CommandRule[] = [
  { command: 'git', args: ['push'], reason: null },
  { command: 'npm', args: ['publish'], reason: 'Releases are made by people.' },
  { command: 'kubectl', args: ['delete'], reason: null },
  { command: 'rm', args: ['/srv*'], reason: null },
  { pipeline: ['curl|wget', 'sh|bash|zsh'], reason: null },
];

/** The same as patterns that begin where the command does, so that words about it are none. */
const ANCHORED: readonly CommandRule[] = [
  String.raw`^git\s+push\b`,
  String.raw`^npm\s+publish\b`,
  String.raw`^kubectl\s+delete\b`,
  String.raw`^rm\s+(-\w+\s+)*/srv`,
  String.raw`^(curl|wget)\b.*\|\s*(sh|bash|zsh)\b`,
];

const FILE_RULES = {
  protectedFiles: ['.env*', 'deploy/prod.yaml', 'policy:secret-bearing-paths'],
  privateFiles: ['.env*', 'policy:secret-bearing-paths'],
};

const guardrails = (blockCommands: readonly CommandRule[]): Guardrails => ({
  blockCommands: [...blockCommands],
  shellAllow: null,
  strict: false,
  ...FILE_RULES,
});

/** The rules that the corpus is judged by, in two ways of writing them. */
export const RULES: Readonly<Record<string, Guardrails>> = {
  'precise rules': guardrails(PRECISE),
  'anchored patterns': guardrails(ANCHORED),
};
export const NO_RULES: Guardrails = {
  blockCommands: [],
  shellAllow: null,
  strict: false,
  protectedFiles: [],
  privateFiles: [],
};

/** The rules that README and docs/guardrails.md give. */
export const DOCUMENTED_RULES: Guardrails = {
  ...NO_RULES,
  blockCommands: [
    { command: 'git', args: ['push'], reason: null },
    { pipeline: ['curl|wget', 'sh|bash|zsh'], reason: null },
    String.raw`rm\s+-rf\s+/`,
  ],
  protectedFiles: ['test/**', '.github/**', 'policy:secret-bearing-paths'],
  privateFiles: ['.env*'],
};
