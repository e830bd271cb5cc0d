import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMMANDS } from '../../src/cli/commands.ts';
import { project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

test('the script for bash completes every command, and the options of the one that is typed', (t) => {
  const p = project(t);
  p.write('completion.bash', p.ralph(['completion', 'bash']).stdout);
  const complete = (...words: string[]): string[] => {
    const typed = `COMP_WORDS=(ralph-loop ${words.join(' ')}); COMP_CWORD=${words.length}`;
    const script = `source completion.bash; ${typed}; _ralph_loop; echo "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = p.sh(`bash -c '${script}'`);
    assert.equal(stderr, '');
    return stdout.split(/\s+/).filter((word) => word !== '');
  };
  assert.deepEqual(complete(''), Object.keys(COMMANDS));
  assert.deepEqual(complete('ver'), ['verify']);
  assert.deepEqual(complete('verify', '--t'), ['--tree']);
  assert.deepEqual(complete('status', '--t'), [], 'control: an option of another command');
  assert.deepEqual(complete('verify', 'x'), [], 'a file, which bash completes');
});

for (const [shell, line] of someOf(
  [
    ['zsh', /^ {4}verify\) options=\('--proof\[/m],
    ['fish', /^complete -c ralph-loop -n '__fish_seen_subcommand_from verify' -l tree -d '/m],
  ] as const,
  2,
)) {
  test(`the script for ${shell} has every command`, (t) => {
    const { code, stdout } = project(t).ralph(['completion', shell]);
    assert.equal(code, 0);
    assert.match(stdout, line);
    for (const name of Object.keys(COMMANDS)) assert.match(stdout, new RegExp(`\\b${name}\\b`));
  });
}

test('another shell, or none, is refused with the choice', (t) => {
  const p = project(t);
  for (const words of someOf([[], ['tcsh'], ['bash', 'zsh']], 3, 1)) {
    const { code, stderr } = p.ralph(['completion', ...words]);
    assert.deepEqual([code, /Name one shell: bash, zsh or fish\./.test(stderr)], [1, true], stderr);
  }
});
