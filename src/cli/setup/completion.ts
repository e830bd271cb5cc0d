import { RalphError } from '../../text/message.ts';
import { COMMON_OPTIONS, type Command } from '../command.ts';
import { SUMMARIES } from '../help.ts';

/** Returns the command that completes these commands, including itself. */
export const completionCommand = (commands: Readonly<Record<string, () => Promise<Command>>>): Command => ({
  name: 'completion',
  usage: 'SHELL',
  help: 'Prints the script for bash, zsh or fish. Put a line into the start file of your shell that loads it: "source <(ralph-loop completion bash)", in zsh the same with zsh, in fish "ralph-loop completion fish | source".',
  example: 'ralph-loop completion bash',
  async run({ positionals: [shell = '', ...more], out }) {
    const write = SCRIPTS[shell];
    if (write === undefined || more.length > 0) throw new RalphError('usage', 'Name one shell: bash, zsh or fish.');
    out(write(await Promise.all(Object.values(commands).map((load) => load()))));
    return 0;
  },
});

const SCRIPTS: Readonly<Record<string, (commands: readonly Command[]) => string>> = { bash, zsh, fish };

/** Options of a command, with what they do. */
function optionsOf({ options = {} }: Command): [name: string, help: string][] {
  return Object.entries({ ...options, ...COMMON_OPTIONS }).map(([name, { help }]) => [name, help]);
}

function bash(commands: readonly Command[]): string {
  const cases = commands.map((command) => {
    const words = optionsOf(command).map(([name]) => `--${name}`);
    return `    ${command.name}) words='${words.join(' ')}' ;;`;
  });
  return `_ralph_loop() {
  local word=\${COMP_WORDS[COMP_CWORD]} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${commands.map(({ name }) => name).join(' ')}' -- "$word"))
    return
  fi
  case \${COMP_WORDS[1]} in
${cases.join('\n')}
  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) COMPREPLY=() ;;
  esac
}
complete -o default -F _ralph_loop ralph-loop`;
}

function zsh(commands: readonly Command[]): string {
  const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const names = commands.map(({ name }) => quote(`${name}:${(SUMMARIES[name] ?? '').replaceAll(':', '\\:')}`));
  const cases = commands.map((command) => {
    const words = optionsOf(command).map(([name, help]) => quote(`--${name}[${help.replace(/[[\]\\:]/g, '\\$&')}]`));
    return `    ${command.name}) options=(${words.join(' ')}) ;;`;
  });
  return `#compdef ralph-loop
_ralph_loop() {
  local -a commands options
  if (( CURRENT == 2 )); then
    commands=(${names.join(' ')})
    _describe command commands
    return
  fi
  case $words[2] in
${cases.join('\n')}
  esac
  _arguments $options '*:file:_files'
}
compdef _ralph_loop ralph-loop`;
}

function fish(commands: readonly Command[]): string {
  const quote = (text: string): string => `'${text.replace(/['\\]/g, '\\$&')}'`;
  const lines = commands.flatMap((command) => [
    `complete -c ralph-loop -n __fish_use_subcommand -f -a ${command.name} -d ${quote(SUMMARIES[command.name] ?? '')}`,
    ...optionsOf(command).map(
      ([name, help]) =>
        `complete -c ralph-loop -n '__fish_seen_subcommand_from ${command.name}' -l ${name} -d ${quote(help)}`,
    ),
  ]);
  return lines.join('\n');
}
