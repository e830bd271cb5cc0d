import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { evaluateToolCall } from '../../../src/guard/evaluate-tool-call.ts';
import { readShellCommand } from '../../../src/guard/shell/read-shell-command.ts';
import type { ShellReading } from '../../../src/guard/shell/shell-reading.ts';
import fc, { binaryText, runs } from '../../support/property.ts';
import { IS_LONG, someOf } from '../../support/short-form.ts';
import { TEST_TIMEOUT_MS } from '../../support/until.ts';
import { DANGEROUS } from './dangerous-commands.ts';
import { createGuardProject } from './guard-project.ts';
import { HARMLESS } from './harmless-commands.ts';
import { NO_RULES } from './support/corpus-project.ts';

const project = createGuardProject();
after(() => rmSync(project.root, { recursive: true, force: true }));

/** What holds for every reading of every text. */
function checkReading(reading: ShellReading, source: string): void {
  for (const command of reading.commands) {
    assert.ok(command.argv.length > 0);
    assert.ok(command.position >= 0 && command.position <= source.length);
    for (const word of command.argv) assert.equal(word.text === null, word.template.includes('\0'));
  }
  for (const use of [...reading.writes, ...reading.reads]) {
    assert.ok(use.position >= 0 && use.position <= source.length);
  }
  for (const piece of reading.undecidable) assert.ok(piece.position >= 0 && piece.position <= source.length);
  assert.ok(reading.commands.length <= 6000);
}

const HOSTILE: Readonly<Record<string, string>> = {
  'ten thousand open substitutions': '$('.repeat(10_000),
  'ten thousand closed substitutions': 'echo $('.repeat(10_000) + ')'.repeat(10_000),
  'substitutions below the size limit': `${'"$('.repeat(2700)}${')"'.repeat(2700)}`,
  'a hundred thousand backticks': '`'.repeat(100_000),
  'a megabyte of commands': 'a;'.repeat(500_000),
  'a megabyte of one word': 'a'.repeat(1_000_000),
  'a megabyte of quotes': "'".repeat(999_999),
  'a megabyte of substitutions in a heredoc': `cat <<E\n${'$(x) '.repeat(200_000)}\nE\n`,
  'a megabyte of literal heredoc': `cat > src/x <<E\n${'$x stuff '.repeat(110_000)}\nE\n`,
  'a heredoc about git': `cat > src/x <<'E'\n${'git checkout '.repeat(20_000)}\nE\n`,
  'twenty thousand heredocs': 'cat <<E\n'.repeat(20_000),
  'nested arithmetic': '$(('.repeat(5000),
  'nested parameters': '${x:-'.repeat(3200),
  'brace bomb': `echo ${'{a,b}'.repeat(3000)}`,
  'sixteen thousand braces that do not end': `echo {a,b}${'{'.repeat(16_000)}`,
  'nested braces': `echo ${'{a,'.repeat(4000)}${'}'.repeat(4000)}`,
  'brace sequence': 'echo {1..999999}{1..999999}',
  'loop bomb': `${'for a in 1 2 3 4 5 6 7 8; do '.repeat(12)}x $a${'; done'.repeat(12)}`,
  'variable bomb': `a=aaaaaaaaaa; ${'a=$a$a$a$a;'.repeat(30)} rm $a`,
  'branch bomb': `${Array.from({ length: 300 }, (_, at) => `if x; then v${at}=1; else v${at}=2; fi`).join(';')}; rm $v1`,
  'a function that calls itself twice': 'f(){ f; f; }; f',
  'eval of itself': 'x=\'eval "$x"\'; eval "$x"',
  'a script that calls itself': 'echo "sh x.sh; sh x.sh" > x.sh; sh x.sh',
  'three thousand wrappers': `${'sudo '.repeat(3000)}rm x`,
  'a glob with thousands of stars': `rm ${'*a'.repeat(5000)}`,
  'a printf without a conversion': "printf 'x' a b; printf ''; printf '",
  'aliases in a circle': 'alias a=b; alias b=a; a',
  'lone surrogates and NUL': '\ud800 rm \0 \udfff \u202e',
};

const LENGTH = IS_LONG ? 1_000_000 : 200_000;
/** Texts in which a search that begins anew at each character would not end. */
const LONG_CODE: Readonly<Record<string, string>> = {
  'one word': 'w'.repeat(LENGTH),
  'words of a path without a slash': 'a.'.repeat(LENGTH / 2),
  'a string and spaces': `'a'${' '.repeat(LENGTH)}`,
  'names of functions that write': 'delete_write.'.repeat(LENGTH / 13),
};

describe('long code for an interpreter', () => {
  const guardrails = { ...NO_RULES, protectedFiles: ['test/**'], privateFiles: ['.env'] };
  const decide = (code: string) =>
    evaluateToolCall(
      { tool: 'Bash', input: { command: `python3 <<'END'\n${code}\nopen('.env')\nEND` }, cwd: project.dir },
      { ...project.rules, guardrails },
    );
  for (const [name, code] of Object.entries(LONG_CODE))
    it(`hides no private file: ${name}`, { timeout: TEST_TIMEOUT_MS }, async () =>
      assert.equal((await decide(code)).decision, 'deny'),
    );
});

describe('hostile input', () => {
  for (const [name, source] of Object.entries(HOSTILE)) {
    it(`is decided without throwing: ${name}`, { timeout: TEST_TIMEOUT_MS }, async () => {
      checkReading(readShellCommand(source, { cwd: project.dir, home: project.home }), source);
      const verdict = await evaluateToolCall(
        { tool: 'Bash', input: { command: source }, cwd: project.dir },
        project.rules,
      );
      assert.ok(verdict.decision === 'allow' || verdict.decision === 'deny');
    });
  }

  it('cannot hide a protected file behind size or nesting', async () => {
    const { rules, dir } = project;
    const hidden = `rm ${rules.ownFiles[0]}`;
    for (const source of [
      `${'a;'.repeat(10_000)}${hidden}`,
      `${'echo $('.repeat(3000)}${hidden}${')'.repeat(3000)}`,
      `${hidden} "`,
    ]) {
      const verdict = await evaluateToolCall({ tool: 'Bash', input: { command: source }, cwd: dir }, rules);
      assert.equal(verdict.decision, 'deny', source.slice(0, 40));
    }
  });
});

describe('any text', () => {
  const commands = [...Object.values(DANGEROUS).flat(), ...HARMLESS].map(project.fill);
  const check = (source: string): void =>
    checkReading(readShellCommand(source, { cwd: project.dir, home: project.home }), source);

  it('can be parsed', () => {
    fc.assert(fc.property(binaryText({ maxLength: 200 }), check), { numRuns: runs(150) });
  });
  it('made of shell pieces can be parsed', () => {
    const pieces = [
      '$(',
      ')',
      '`',
      '"',
      "'",
      '{',
      '}',
      ',',
      '<<E',
      '\n',
      'E',
      '>',
      '|',
      '&',
      ';',
      '$x',
      '${x',
      ':-',
      '((',
      '))',
      '[[',
      ']]',
      ' ',
      'for',
      'do',
      'done',
      'in',
      'case',
      'esac',
      'if',
      'then',
      'fi',
      'x=',
      'rm',
      'bash -c',
      '\\',
      '*',
      '~',
      '/',
      'a',
      '\0',
      '!',
      'f()',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 60 }), (parts) => check(parts.join(''))),
      { numRuns: runs(400) },
    );
  });
  it('made by cutting commands of the tables can be parsed', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...commands),
        fc.constantFrom(...commands),
        fc.nat(200),
        fc.nat(200),
        (left, right, a, b) => check(left.slice(0, a) + right.slice(b)),
      ),
      { numRuns: runs(400) },
    );
  });
});

describe('dangerous commands among others', () => {
  const dangerous = Object.values(DANGEROUS)
    .flat()
    .filter((command) => !/["'`\\<#$]|\(\)/.test(command))
    .map(project.fill);
  it('stay denied inside blocks, branches, functions and after other commands', async () => {
    const frames: ReadonlyArray<(command: string) => string> = [
      (command) => `npm test\n${command}`,
      (command) => `{ ${command}\n}`,
      (command) => `if x; then :\nelse ${command}\nfi`,
      (command) => `f() { ${command}\n}\nf`,
      (command) => `echo $(${command}\n)`,
      (command) => `bash <<'END_OF_IT'\n${command}\nEND_OF_IT`,
      (command) => `while read -r x; do ${command}\ndone`,
      (command) => `x || ${command}`,
    ];
    // In the short form each command stands in two of the places, and each place has a quarter of the commands.
    for (const [nth, command] of dangerous.entries()) {
      for (const [index, frame] of someOf([...frames.entries()], 4, nth)) {
        const source = frame(command);
        const verdict = await evaluateToolCall(
          { tool: 'Bash', input: { command: source }, cwd: project.dir },
          project.rules,
        );
        assert.equal(verdict.decision, 'deny', `${index}: ${source}`);
      }
    }
  });
});
