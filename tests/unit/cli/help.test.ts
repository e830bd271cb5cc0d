import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandName, parseOptions } from '../../../src/cli/command.ts';
import { COMMANDS } from '../../../src/cli/commands.ts';
import { commandHelp, commandList, SUMMARIES } from '../../../src/cli/help.ts';
import { NAMED_HOSTS } from '../../../src/hosts/hosts.ts';

const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()));

function assertFits(text: string, lines: number): void {
  assert.ok(text.split('\n').length <= lines, text);
  for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
}

/** Splits a command line as a shell does for words and double quotes. */
function words(line: string): string[] {
  return (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''));
}

for (const command of commands) {
  test(`the help of ${command.name} has at most 50 lines of 80 columns, three sentences and an example`, () => {
    const help = commandHelp(command);
    assertFits(help, 50);
    assert.ok((command.help.match(/[.!?](?=\s|$)/g) ?? []).length <= 3, command.help);
    assert.match(SUMMARIES[command.name] ?? '', /^[A-Z].{1,58}\.$/);
    assert.equal(help.split('\nExample: ').length, 2);
    assert.ok(help.endsWith(`\nExample: ${command.example}`));
    const [program, ...args] = words(command.example);
    assert.equal(program, 'ralph-loop');
    const line = commandName(args);
    assert.equal(line.name, command.name);
    assert.equal(parseOptions(command, line.args).problem, null, command.example);
  });
}

test('the command list names every command once, on one screen of 42 lines of 80 columns', () => {
  const list = commandList();
  assertFits(list, 42);
  const listed = [...list.matchAll(/^ {2}([a-z]+) {2,}(\S.*)$/gm)].map(([, name]) => name);
  assert.deepEqual(listed.sort(), commands.map(({ name }) => name).sort());
});

test('the help of run, which loads no client, names those that work on iterations', () => {
  const names = NAMED_HOSTS.filter(({ iterations }) => iterations !== null).map(({ name }) => name);
  const said = commands.find(({ name }) => name === 'run')?.options?.['agent']?.help;
  assert.equal(said, `${names.join(', ')}, or another agent without guardrails.`);
});
