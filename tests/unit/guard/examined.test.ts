import assert from 'node:assert/strict';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Guardrails } from '../../../src/engine/schema/contract.ts';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import type { TaskScope } from '../../../src/guard/guard.ts';
import * as again from './corpus/examined-again.ts';
import * as attacks from './corpus/examined-attacks.ts';
import { EXAMINED_EVERYDAY } from './corpus/examined-everyday.ts';
import * as temporary from './corpus/temporary-folders.ts';
import { MAIN } from './guard-project.ts';
import { createCorpusProject, DOCUMENTED_RULES, NO_RULES } from './support/corpus-project.ts';
import '../../support/starts-processes.ts';

const project = createCorpusProject();
after(() => rmSync(project.root, { recursive: true, force: true }));
const put = (path: string, text: string): void => {
  mkdirSync(dirname(join(project.dir, path)), { recursive: true });
  writeFileSync(join(project.dir, path), text);
};
for (const file of ['test/a.test.ts', 'test/a_test.go', 'test/fixtures/a.json', 'src/x.ts', 'package-lock.json'])
  put(file, file);
put('tools/copied.cjs', MAIN);
put('.git/HEAD', 'ref: refs/heads/work\n');
put(
  '.git/config',
  '[core]\n\tbare = false\n[branch "work"]\n\tremote = origin\n\tmerge = refs/heads/work\n[remote "origin"]\n\turl = /x\n',
);

const PLAN: TaskScope = { task: 'T1', entries: ['**'], free: ['node_modules'], noPushTo: ['main'] };
const PUSH: Partial<Guardrails> = { blockCommands: [{ command: 'git', args: ['push'], reason: null }] };
const LISTED: Partial<Guardrails> = {
  shellAllow: ['npm test.*', 'npm run \\w+', 'ls.*', 'cat .*', 'git (log|status|diff).*'],
};
const FREE = { ownFiles: [], ownGlobs: [], controlProgram: [] };

interface Given {
  readonly rules?: Partial<Guardrails>;
  readonly scope?: TaskScope | null;
  readonly free?: boolean;
}

async function decide(command: string, { rules = {}, scope = null, free = false }: Given): Promise<string> {
  const call = { tool: 'Bash', input: { command: project.fill(command) }, cwd: project.dir };
  const own = free ? FREE : {};
  const guardrails = { ...NO_RULES, ...rules };
  return (await evaluateToolCall(call, { ...project.rules, ...own, guardrails, scope })).decision;
}

const HERE = { rules: { protectedFiles: ['package.json', 'package-lock.json', 'test/**', '.claude/'] } };

/** `control`: the same without the rule that denies. */
const KINDS: ReadonlyArray<readonly [what: string, commands: readonly string[], given: Given, control: Given]> = [
  ['a copy of the control program', [...attacks.COPIES, ...again.COPIED], {}, { free: true }],
  ['an own file that a program is given', [...attacks.OWN_FILES, ...again.BY_OPTIONS], {}, { free: true }],
  ['an own file that a search reaches', [...attacks.SEARCHED, ...again.LISTED], {}, { free: true }],
  ['an own file behind settings of the shell', [...attacks.BY_SETTINGS, ...again.BY_STATE], {}, { free: true }],
  [
    'a protected file',
    [...attacks.PROTECTED, ...again.OUTPUTS],
    { rules: { protectedFiles: ['test/**', 'package.json'] } },
    {},
  ],
  ['the project behind a folder that is not there', temporary.BESIDE_NEW_FOLDERS, {}, { free: true }],
  ['the project behind a condition or a link', temporary.BEHIND_CONDITIONS, {}, { free: true }],
  [
    'a protected file behind a link',
    temporary.BEHIND_LINKS,
    { rules: { protectedFiles: ['test/**', 'package.json'] } },
    { free: true },
  ],
  ['a protected file in a folder that is not known', temporary.BEHIND_UNKNOWN, HERE, {}],
  ['a protected name behind a `cd` that may fail', temporary.BEHIND_A_DOUBT, HERE, {}],
  ['a blocked command', [...attacks.BLOCKED, ...again.RENAMED, ...again.BEHIND], { rules: PUSH }, {}],
  ['a push to main', [...attacks.PUSHED, ...again.TURNED], { scope: PLAN }, { scope: { ...PLAN, noPushTo: [] } }],
  ['what no pattern of an allowlist covers', [...attacks.NOT_LISTED, ...again.STEERED], { rules: LISTED }, {}],
  ['a private file', [...attacks.PRIVATE, ...again.TOLD], { rules: { privateFiles: ['.env', 'secrets/'] } }, {}],
];

for (const [what, commands, given, control] of KINDS)
  describe(`${what}, as examined`, () => {
    for (const command of commands)
      it(`is denied: ${JSON.stringify(command)}`, async () => {
        assert.equal(await decide(command, given), 'deny');
        assert.equal(await decide(command, control), 'allow', 'control: without the rule');
      });
  });

describe('everyday commands as examined', () => {
  for (const command of [...EXAMINED_EVERYDAY, ...again.EVERYDAY_AGAIN])
    it(`are allowed: ${JSON.stringify(command)}`, async () =>
      assert.equal(await decide(command, { rules: DOCUMENTED_RULES }), 'allow'));
  for (const command of temporary.IN_NEW_FOLDERS)
    it(`work in a new folder: ${JSON.stringify(command)}`, async () =>
      assert.equal(await decide(command, HERE), 'allow'));
  for (const command of again.FROM_TOP)
    it(`stay beside protected files: ${JSON.stringify(command)}`, async () =>
      assert.equal(await decide(command, HERE), 'allow'));
  for (const command of again.OWN_PUSHES)
    it(`push to a plan's own branch: ${JSON.stringify(command)}`, async () =>
      assert.equal(await decide(command, { scope: PLAN }), 'allow'));
  it('reach the project behind a link beside a new folder', async () => {
    const link = `/tmp/beside-new-folders-${process.pid}`;
    symlinkSync(project.dir, link);
    try {
      for (const command of [
        'cd $(mktemp -d)/../NAME && rm package.json',
        'd=$(mktemp -d); rm $d/../NAME/package.json',
      ])
        assert.equal(await decide(command.replace('NAME', basename(link)), HERE), 'deny', command);
      const other = 'cd $(mktemp -d)/../NAME && rm package.json';
      assert.equal(await decide(other, HERE), 'allow', 'control: another name');
    } finally {
      rmSync(link);
    }
  });
  it('may have package.json protected where it stays as it is', async () => {
    for (const command of [
      ...['npm install', 'npm ci', 'npm i -g typescript', 'npm pkg get scripts', 'npm run add x', 'npm version'],
      ...['npm install --no-save zod', 'npm init vite@latest demo', 'npm --prefix /tmp/x i zod', 'pnpm i', 'yarn'],
    ])
      assert.equal(await decide(command, { rules: { protectedFiles: ['package.json'] } }), 'allow', command);
  });
  it('run in a container by its own paths', async () => {
    const protects = { rules: { ...PUSH, protectedFiles: ['test/**'] } };
    for (const command of ['rm -rf /test', 'sh -c "rm -rf *"', 'pytest /w/test'])
      assert.equal(await decide(`docker run -v "$PWD/src":/w -w /w alpine ${command}`, protects), 'allow', command);
    const mounted = `docker run -v "$PWD":/w -w /w alpine rm -rf test`;
    assert.equal(await decide(mounted, protects), 'deny', 'control: a mounted folder');
  });
});
