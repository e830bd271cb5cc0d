import assert from 'node:assert/strict';
import { test } from 'node:test';
import picomatch from 'picomatch/posix.js';
import type { Guardrails } from '../../src/engine/schema/contract.ts';
import { evaluateCommandRules } from '../../src/guard/commands/evaluate-rules.ts';
import { pathForms, pathPattern } from '../../src/guard/files/path-pattern.ts';
import { prepareGuard } from '../../src/guard/guard.ts';
import { readShellCommand } from '../../src/guard/shell/read-shell-command.ts';
import { NO_GUARDRAILS } from '../support/contract-terms.ts';
import fc, { binaryText, runs } from '../support/property.ts';

const DIRECTORY = '/no-such-folder/project';

function ruleOf(command: string, rules: Partial<Guardrails>): string | null {
  const reading = readShellCommand(command, { cwd: DIRECTORY, home: '/no-such-folder/home' });
  return evaluateCommandRules(command, reading, { ...NO_GUARDRAILS, ...rules }, false)?.rule ?? null;
}

const PUSH: Partial<Guardrails> = { blockCommands: [{ command: 'git', args: ['push'], reason: null }] };
const ANCHORED: Partial<Guardrails> = { blockCommands: ['^git push\\b'] };

/** Spellings of one character that the shell takes for the character itself. */
const SPELLINGS: ReadonlyArray<(character: string) => string> = [
  (character) => character,
  (character) => `'${character}'`,
  (character) => `"${character}"`,
  (character) => `\\${character}`,
  (character) => `$'${character}'`,
  (character) => `$'\\x${character.charCodeAt(0).toString(16)}'`,
  (character) => `$'\\${character.charCodeAt(0).toString(8).padStart(3, '0')}'`,
  (character) => `''${character}`,
  (character) => `\\\n${character}`,
  (character) => `$(printf ${character})`,
];
/** The same where nobody set the variable, which only a run can tell. */
const PERHAPS = [...SPELLINGS, (character: string) => `\${nothing-}${character}`];

/** A word in any mixture of spellings. */
function spelt(word: string, spellings = SPELLINGS): fc.Arbitrary<string> {
  return fc
    .tuple(...Array.from(word, () => fc.nat(spellings.length - 1)))
    .map((choices) => choices.map((choice, index) => spellings[choice]?.(word[index] ?? '')).join(''));
}

/** What may stand around a simple command, and around any, so that it still runs. */
const WRAPPERS: ReadonlyArray<(command: string) => string> = [
  (command) => command,
  (command) => `env A=1 timeout 5 ${command}`,
  (command) => `sudo -u x ${command}`,
  (command) => `x=1 ${command} > out.txt 2>&1`,
  (command) => `find . -exec ${command} \\;`,
];
const FRAMES: ReadonlyArray<(command: string) => string> = [
  (command) => command,
  (command) => `true && ${command}`,
  (command) => `( ${command} )`,
  (command) => `{ ${command}\n}`,
  (command) => `if :; then ${command}\nfi`,
  (command) => `echo "$( ${command} )"`,
  (command) => `f() { ${command}\n}; f`,
  (command) => `cat <( ${command} )`,
  (command) => `bash <<'END_OF_IT'\n${command}\nEND_OF_IT`,
];

const framed = (command: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(command, fc.constantFrom(...FRAMES), fc.constantFrom(...FRAMES), fc.constantFrom(...WRAPPERS))
    .map(([text, outer, inner, wrapper]) => outer(inner(wrapper(text))));

test('A blocked command is denied in every mixture of spellings, anywhere.', () => {
  const command = framed(
    fc.tuple(spelt('git', PERHAPS), spelt('push', PERHAPS)).map(([git, push]) => `${git} ${push} origin`),
  );
  fc.assert(
    fc.property(command, (text) => {
      assert.equal(ruleOf(text, PUSH), '{command: git, args: [push]}');
      assert.equal(ruleOf(text, ANCHORED), '^git push\\b');
    }),
    { numRuns: runs(1000) },
  );
});

test('Another command is not denied in any spelling, even if it mentions the blocked one.', () => {
  const words = fc.tuple(spelt('git'), spelt('pull'), spelt('push')).map(([a, b, c]) => `${a} ${b} ${c}`);
  const talk = fc.tuple(spelt('echo'), spelt('git'), spelt('push')).map(([a, b, c]) => `${a} ${b} ${c}`);
  fc.assert(
    fc.property(framed(fc.oneof(words, talk)), (text) => {
      assert.equal(ruleOf(text, PUSH), null);
      // The text as a whole may begin with the words of a continued line.
      assert.equal(ruleOf(text, ANCHORED), null);
    }),
    { numRuns: runs(1000) },
  );
});

test('An allowlist allows a command in every mixture of spellings, and nothing else.', () => {
  const allowed = fc.tuple(spelt('npm'), spelt('test')).map(([npm, run]) => `${npm} ${run}`);
  fc.assert(
    fc.property(
      allowed,
      fc.constantFrom('ls', 'npm', 'npm test x', 'xnpm test', '/npm test', 'sudo npm test'),
      (text, other) => {
        const rules = { shellAllow: ['npm test', 'printf .'] };
        assert.equal(ruleOf(text, rules), null);
        for (const both of [
          `${text}; ${other}`,
          `${other} | ${text}`,
          `${text} $(${other})`,
          `${text} && { ${other}; }`,
        ])
          assert.equal(ruleOf(both, rules), 'shell_policy.allowlist', both);
      },
    ),
    { numRuns: runs(250) },
  );
});

test('Any text under any of these patterns is denied or not, without throwing.', () => {
  const patterns = fc.subarray(['^$', '\\bgit\\b', '(?i)A.*B', '[^a]+$', 'x{2,5}y', '(a|b|)*c'], { minLength: 1 });
  const text = fc.oneof(
    binaryText({ maxLength: 100 }),
    fc.array(fc.constantFrom(...'$(){}[]<>|&;`\'"\\ \n*?!#=~-ab'), { maxLength: 60 }).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(text, patterns, fc.boolean(), (command, blockCommands, listed) => {
      const rule = ruleOf(command, { blockCommands, shellAllow: listed ? blockCommands : null });
      assert.ok(rule === null || rule === 'shell_policy.allowlist' || blockCommands.includes(rule));
    }),
    { numRuns: runs(500) },
  );
});

test("A glob covers a path of the project exactly if picomatch does, by name or by the path's forms.", async () => {
  const guard = prepareGuard({
    ...{ projectDir: DIRECTORY, home: '/no-such-folder/home', ownFiles: [], controlProgram: [], agentCommands: [] },
    caseInsensitive: false,
  });
  const name = fc.constantFrom('a', 'b.ts', '.env', '.env.local', 'x.pem', 'src', '[id]', 'a b');
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
  const piece = fc.constantFrom(
    '*',
    '**',
    '?',
    'a',
    '.env*',
    '*.pem',
    '*.{ts,pem}',
    'src',
    '[ab]*',
    '+(a|b).ts',
    '!(a)',
  );
  const glob = fc.array(piece, { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join('/'));
  await fc.assert(
    fc.asyncProperty(path, glob, async (file, pattern) => {
      const literal = !/[*?[\](){}!+@\\]/.test(pattern);
      fc.pre(!literal);
      const matches = picomatch(pattern, { dot: true });
      const forms = pattern.includes('/') ? [file, `${DIRECTORY}/${file}`] : [file.slice(file.lastIndexOf('/') + 1)];
      assert.equal(
        (await pathPattern(pattern, guard)).covers(pathForms(file, DIRECTORY, guard)),
        forms.some((each) => matches(each)),
      );
    }),
    { numRuns: runs(1500) },
  );
});
