import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CommandRule, Guardrails } from '../../../../src/engine/schema/contract.ts';
import { createGuardProject, type GuardProject } from '../guard-project.ts';

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

/** Makes `root` a repository that tracks `paths`, without starting git: what reads only the list of tracked files needs no more. */
function writeGitIndex(root: string, paths: readonly string[]): void {
  for (const folder of ['objects', 'refs/heads']) mkdirSync(join(root, '.git', folder), { recursive: true });
  writeFileSync(join(root, '.git', 'HEAD'), 'ref: refs/heads/main\n');
  // A stash of which git cannot tell what it holds.
  writeFileSync(join(root, '.git', 'refs', 'stash'), `${'1'.repeat(40)}\n`);
  writeFileSync(join(root, '.git', 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = false\n');
  const sorted = [...paths].sort();
  const header = Buffer.alloc(12);
  header.write('DIRC');
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(sorted.length, 8);
  const content = Buffer.concat([header, ...sorted.map(indexEntry)]);
  writeFileSync(join(root, '.git', 'index'), Buffer.concat([content, createHash('sha1').update(content).digest()]));
}

/** An entry of version 2: stat fields, mode, object name, length of the path, and the path padded to 8 bytes. */
function indexEntry(path: string): Buffer {
  const bytes = Buffer.from(path);
  const entry = Buffer.alloc((62 + bytes.length + 8) & ~7);
  entry.writeUInt32BE(0o100644, 24);
  // An object that is not there: to git, the file differs from it.
  entry.fill(1, 40, 60);
  entry.writeUInt16BE(Math.min(bytes.length, 0xfff), 60);
  bytes.copy(entry, 62);
  return entry;
}
