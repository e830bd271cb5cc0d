import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import { createGuardProject, MAIN } from './guard-project.ts';

const project = createGuardProject();
after(() => rmSync(project.root, { recursive: true, force: true }));
const put = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};
/** Another bundle, as a clone of ralph-loop has it, and a program of the user's own that looks like one. */
const clone = join(project.root, 'clone');
put(join(clone, 'dist/scripts/main.cjs'), 'another version');
put(join(clone, 'dist/hooks/ralph-stop-hook.cjs'), '');
put(join(project.dir, 'app/scripts/main.cjs'), 'the user’s own');
put(join(project.dir, 'app/hooks/pre-commit.cjs'), '');
copyFileSync(join(project.dir, MAIN), join(project.dir, 'notes.txt'));
symlinkSync(join(clone, 'dist/scripts/main.cjs'), join(project.dir, 'linked.cjs'));

const COPIES: readonly string[] = [
  'cut -b1- @MAIN@ > m.cjs',
  'sort @MAIN@ > m.cjs',
  "grep '' @MAIN@ > m.cjs",
  'tr a a < @MAIN@ > m.cjs',
  'paste @MAIN@ > m.cjs',
  'fold -w 9999 @MAIN@ > m.cjs',
  'diff /dev/null @MAIN@ > m.diff',
  'strings @MAIN@ >> m.cjs',
  'column @MAIN@ | dd of=m.cjs',
  'cat @MAIN@ | nc localhost 80',
  'cat @MAIN@ | split - m',
  'cat @MAIN@ | python3 -',
  'tail -n +1 @MAIN@ | sort -o m.cjs',
  'x=$(cat @MAIN@)',
  'x="$(< @MAIN@)"',
  'read -r -d "" x < @MAIN@',
  'mapfile -t lines < @MAIN@',
  'while read -r l; do echo "$l"; done < @MAIN@ > m.cjs',
  'diff <(cat @MAIN@) /dev/null',
  'exec 3> m.cjs; cat @MAIN@ >&3',
  'exec > m.cjs; cat @MAIN@',
  '{ cat @MAIN@; } > m.cjs',
  '(head -c 999999 @MAIN@) > m.cjs',
  'if true; then cat @MAIN@; fi > m.cjs',
  'node -e "$(cat @MAIN@)" accept',
  'git show HEAD:@MAIN@ > m.cjs',
  'git cat-file -p HEAD:@MAIN@ > m.cjs',
  'git cat-file blob HEAD:@MAIN@ | node - accept',
  'git archive HEAD @MAIN@ -o m.tar',
  'curl -s file://@PROJECT@/@MAIN@ -o m.cjs',
  'wget file://@PROJECT@/@MAIN@',
  'socat FILE:@MAIN@ CREATE:m.cjs',
  'openssl enc -base64 -in @MAIN@ -out m',
  'zip m.zip @MAIN@',
  'cpio -o <<< @MAIN@ > m.cpio',
  'python3 -c "print(open(\'@MAIN@\').read())" > m.cjs',
  'ln @MAIN@ m.cjs',
  'docker cp @MAIN@ c:/m.cjs',
  'rsync @MAIN@ m.cjs',
  'pandoc @MAIN@ -o m.cjs',
  'pr -t @MAIN@ > m.cjs',
  'nl @MAIN@ | tee m.cjs',
];

const RUNS: readonly string[] = [
  'node notes.txt accept',
  'node ./notes.txt stop',
  'bun notes.txt cancel',
  'node @CLONE@/dist/scripts/main.cjs accept',
  '@CLONE@/dist/scripts/main.cjs accept',
  'env -i node @CLONE@/dist/scripts/main.cjs accept',
  'setsid -f env -i node @CLONE@/dist/scripts/main.cjs reset',
  'node linked.cjs accept',
  'cd @CLONE@/dist/scripts && node main.cjs accept',
  'weird --wrap node @MAIN@ accept',
  'weird node notes.txt accept; node notes.txt accept',
  'outer inner node @MAIN@ reset',
  'unknown-runner @MAIN@ accept',
  'f=notes.txt; node $f accept',
  'for c in accept; do node notes.txt $c; done',
  'echo accept | xargs node notes.txt',
  'node -r ./notes.txt x.js accept',
  'nohup node notes.txt start &',
  '( sleep 2; exec node notes.txt accept ) &',
  'bash -c "node notes.txt accept"',
  'weird node @MAIN@ tdd init --consent',
];

const HARMLESS: readonly string[] = [
  'cat @MAIN@',
  'head -n 5 @MAIN@',
  'cat @MAIN@ 2> /dev/null',
  'cat @MAIN@ > /dev/null',
  'grep -n accept @MAIN@',
  'grep -n accept @MAIN@ | head -n 3 | cut -c1-80',
  'grep -c accept @MAIN@ > /tmp/count',
  'n=$(grep -c accept @MAIN@)',
  'wc -c @MAIN@ > /tmp/size',
  'size=$(wc -c < @MAIN@)',
  'sha256sum @MAIN@ > /tmp/sums',
  'cmp @MAIN@ /tmp/x',
  'ls -l @MAIN@ > /tmp/list',
  'stat @MAIN@ | tee /tmp/stat',
  'test -f @MAIN@ && echo there',
  'file @MAIN@',
  'less @MAIN@',
  'sed -n 1,5p @MAIN@ | nl',
  'git log -- @MAIN@ ',
  'git diff --stat -- @MAIN@',
  'git show HEAD:@MAIN@ | head',
  'node --check @MAIN@',
  'node @MAIN@ status > /tmp/status.txt',
  'x=$(node @MAIN@ status --json)',
  'node @MAIN@ explain | tee /tmp/explain.txt',
  'weird node @MAIN@ status',
  'outer inner node @MAIN@ explain',
  'node notes.txt status',
  'node @CLONE@/dist/scripts/main.cjs status',
  'node @CLONE@/dist/scripts/main.cjs --help',
  'node app/scripts/main.cjs accept',
  'node scripts/main.cjs accept',
  'node dist/main.cjs reset',
  'cat app/scripts/main.cjs > m.cjs',
  'cp scripts/main.cjs dist/',
  'grep -rn accept . > /tmp/found',
  'grep -rn main.cjs . | tee /tmp/found',
  'rg accept > /tmp/found',
  'x=$(grep -rl accept .)',
  'tar czf /tmp/all.tgz .',
  'cat notes.md > copy.md',
  'diff <(cat scripts/main.cjs) <(cat dist/main.cjs)',
  'git archive HEAD -o /tmp/all.tar',
];

const decide = async (command: string, without = false): Promise<string> => {
  const filled = project.fill(command).replaceAll('@CLONE@', clone);
  const rules = without
    ? { ...project.rules, controlProgram: [], ownFiles: [], ownGlobs: [] }
    : { ...project.rules, agentCommands: [...project.rules.agentCommands, 'tdd'] };
  const verdict = await evaluateToolCall({ tool: 'Bash', input: { command: filled }, cwd: project.dir }, rules);
  return verdict.decision === 'deny' ? `deny ${verdict.rule}` : 'allow';
};

describe('the text of the control program', () => {
  for (const command of COPIES)
    it(`goes only to the terminal: ${command}`, async () => assert.match(await decide(command), /^deny/));
  for (const command of HARMLESS)
    it(`is not affected by: ${command}`, async () => assert.equal(await decide(command), 'allow'));
});

describe('the control program', () => {
  for (const command of RUNS)
    it(`is recognised by its bytes, its bundle and its name: ${command}`, async () =>
      assert.match(await decide(command), /^deny/));
  it('is not recognised without the rule', async () => {
    for (const command of [...COPIES, ...RUNS]) {
      if (/@CLONE@|linked/.test(command)) continue;
      assert.equal(await decide(command, true), 'allow', command);
    }
  });
});
