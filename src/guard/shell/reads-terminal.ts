import { basenameOf, isShell } from './program-words.ts';
import type { ShellCommand, ShellReading } from './shell-reading.ts';
import { byProgram } from './words.ts';

/** Programs whose keys run commands. They read them from the terminal, wherever their input comes from. */
const ALWAYS = new Set(
  'vi vim view nvim vimdiff ex emacs nano pico micro hx joe less more most screen tmux script visudo vipw mc ranger'.split(
    ' ',
  ),
);
/** Programs with a prompt, whatever file they are given. */
const PROMPTS = new Set('gdb lldb sftp ftp telnet bpython ptpython pry iex'.split(' '));
/** Options with which those do their work and exit, or start in the background. */
const LEAVES = byProgram<RegExp>({
  'vi vim nvim ex': /^-[a-zA-Z]*[eE]s$|^--(?:version|help)$/,
  emacs: /^--?(?:batch|script)$/,
  'gdb lldb': /^--?batch$/,
  'tmux screen': /^-[a-zA-Z]*[dV]|^-(?:ls|list|wipe)$|^(?:kill|ls|list|send|has|new|start|set|show|capture|display)/,
  script: /^-[a-zA-Z]*c/,
});

/**
 * Programs that run their standard input unless their words name a program, and the options that do. The value of an option that
 * is not listed may be taken for a program: then the call is judged by the other rules alone.
 */
const RUNS_INPUT = byProgram<RegExp>({
  'python python2 python3 pypy pypy3 ipython': /^-[a-zA-Z]*[cm]$|^-m./,
  'node nodejs tsx ts-node': /^-(?:e|p|pe|c)$|^--(?:eval|print|check|run|test)\b/,
  'ruby perl irb': /^-[a-zA-Z0-9]*[eE]/,
  php: /^-[rSlfB]/,
  'psql mysql mariadb': /^-[a-zA-Z]*[cefls]$|^--(?:command|execute|file|list)\b/,
  'clojure clj': /^-[eMTX]|^--(?:eval|main)\b/,
  'redis-cli': /^--(?:scan|pipe|stat|bigkeys|memkeys|latency|eval|rdb|cluster)\b/,
  'lua luajit Rscript R julia ghci ocaml utop guile racket sbcl tclsh wish scala groovysh swift jshell erl elixir expect bc dc ed mongosh mongo clickhouse-client':
    /^-(?:e|c|f|E)$|^--(?:eval|command|execute|file|script|load|batch)\b/,
  'at batch crontab': /^-[lrf]$/,
});
/** Programs whose operands name a data base or a place, not a program. */
const PLACES = new Set('psql mysql mariadb mongosh mongo clickhouse-client at batch ed bc dc ghci jshell'.split(' '));
/** Interpreters whose option -i edits files in place. */
const IN_PLACE = new Set(['perl', 'ruby']);

/** Words that start a debugger or a prompt in an interpreter: `python -m pdb`, `node inspect`. */
const DEBUGGER = /^(?:pdb|code|IPython|ptpython|bpython|inspect)$/;

/** Programs that copy standard input when no operand names a file. */
const COPIES = new Set('cat tac head tail sort uniq tr sed cut rev nl fold expand column'.split(' '));

const TERMINAL = /^\/dev\/(?:tty|stdin|fd\/0|pts\/.*)$|^\/proc\/self\/fd\/0$/;
/** Names of standard input, which a redirection or a pipe may have given. */
const STDIN = /^\/dev\/(?:stdin|fd\/0)$|^\/proc\/self\/fd\/0$/;
const VERSION = /^(?:-V|--version|--help|-h)$/;

/**
 * Returns the first program of a command that takes commands, or the content of a file, from the terminal; null if there is none.
 * Its client types into a running command without asking a hook.
 */
export function readsTerminal(reading: ShellReading): string | null {
  const fed = [...reading.commands, ...reading.opened].find((command) => takesInput(command, reading));
  if (fed !== undefined) return fed.name;
  const given = new Set(reading.commands.filter(({ stdinFrom }) => stdinFrom !== 'none').map(({ name }) => name));
  const read = reading.reads.find(
    ({ target, by }) =>
      target !== null && TERMINAL.test(target) && !(STDIN.test(target) && by !== null && given.has(by)),
  );
  return read === undefined ? null : read.by || 'this redirection';
}

function takesInput(command: ShellCommand, reading: ShellReading): boolean {
  const name = basenameOf(command.name);
  const words = command.argv.slice(1).map(({ template }) => template);
  if (words.some((word) => VERSION.test(word))) return false;
  if (ALWAYS.has(name)) return !words.some((word) => LEAVES(name)?.test(word));
  const operands = words.filter((word) => !word.startsWith('-') || word === '-');
  const isAsked = !IN_PLACE.has(name) && words.some((word) => /^--?(?:i|interactive)$/.test(word));
  if (isAsked && (isShell(name) || RUNS_INPUT(name) !== undefined))
    return command.stdinFrom === 'none' && !words.includes('-c');
  if (name === 'git') return asksEditor(command, words);
  if (command.stdinFrom !== 'none') return false;
  if (PROMPTS.has(name)) return !words.some((word) => LEAVES(name)?.test(word));
  if (isShell(name)) return command.opened !== true && (operands.every((word) => word === '-') || words.includes('-s'));
  if (['read', 'mapfile', 'readarray', 'select', 'xargs', 'parallel'].includes(name))
    return !words.some((word) => /^-u|^-a|^--arg-file|^:::/.test(word));
  if (/^(?:source|\.)$/.test(name)) return words.some((word) => TERMINAL.test(word));
  if (/^(?:docker|podman|kubectl|nerdctl|ssh|su|sudo)$/.test(name)) return hasShellOf(name, words, operands);
  if (words.some((word, at) => DEBUGGER.test(word) && (words[at - 1] === '-m' || at === 0)))
    return RUNS_INPUT(name) !== undefined;
  const codes = RUNS_INPUT(name);
  if (codes !== undefined) {
    const own = name === 'redis-cli' ? operandsOf(words, (word) => /^-[hpnau]$/.test(word)) : operands;
    const isNamed = own.some((word) => word !== '-') && !PLACES.has(name);
    return !isNamed && !words.some((word) => codes.test(word));
  }
  if (name === 'deno' || name === 'bun') return operands.length === 0 || operands[0] === 'repl';
  if (name === 'sqlite3' || name === 'duckdb')
    return operands.length < 2 && !(name === 'duckdb' && words.some((word) => /^-[csf]$/.test(word)));
  return copiesIntoFile(name, operands, reading);
}

/** Returns whether a program in another place gets a terminal: `docker exec -it`, `ssh HOST`, `sudo -i`. */
function hasShellOf(name: string, words: readonly string[], operands: readonly string[]): boolean {
  if (name === 'ssh') return operands.length < 2 && !words.some((word) => /^-[a-zA-Z]*[GNTQf]/.test(word));
  if (name === 'su') return !words.some((word) => /^-c$|^--command/.test(word));
  if (name === 'sudo') return operands.length === 0 && words.some((word) => /^-[a-zA-Z]*[is]$/.test(word));
  const command = operands[0] === 'compose' ? operands[1] : operands[0];
  if (!/^(?:run|exec|attach|debug)$/.test(command ?? '')) return false;
  if (command === 'attach') return true;
  if (!words.some((word) => /^-[a-zA-Z]*t[a-zA-Z]*$|^--tty$/.test(word))) return false;
  const at = words.findIndex((word, index) => index > 0 && isPrompt(basenameOf(word)));
  if (at !== -1) return isPromptWith(basenameOf(words[at] ?? ''), words.slice(at + 1));
  // Nothing but a place: its own program starts.
  return operandsOf(words, (word) => !FLAGS.test(word)).length < (operands[0] === 'compose' ? 4 : 3);
}

/** Options of `docker run` and its kin that have no value. Any other one may have one, which is then no operand. */
const FLAGS =
  /=|^--$|^-[itdPq]+$|^--(?:rm|init|privileged|tty|interactive|detach|read-only|no-deps|service-ports|stdin|quiet)$/;

function isPrompt(name: string): boolean {
  return isShell(name) || ALWAYS.has(name) || PROMPTS.has(name) || RUNS_INPUT(name) !== undefined;
}

/** Returns whether a shell, an interpreter or an editor reads its terminal with these words. */
function isPromptWith(name: string, words: readonly string[]): boolean {
  if (ALWAYS.has(name) || PROMPTS.has(name)) return true;
  const codes = isShell(name) ? /^-[a-zA-Z]*c$/ : RUNS_INPUT(name);
  const [first = '-'] = words;
  return !words.some((word) => codes?.test(word)) && (first.startsWith('-') || PLACES.has(name));
}

/** Returns the words that are neither options nor values of options. */
function operandsOf(words: readonly string[], takesValue: (option: string) => boolean): string[] {
  const found: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (!word.startsWith('-')) found.push(word);
    else if (takesValue(word)) at += 1;
  }
  return found;
}

/** Returns whether git would open an editor, in which keys run commands. */
function asksEditor({ assignments }: ShellCommand, words: readonly string[]): boolean {
  if (assignments.some(({ name }) => /^(?:GIT_(?:SEQUENCE_)?EDITOR|EDITOR|VISUAL)$/.test(name))) return false;
  if (words.some((word) => /^core\.editor=|^sequence\.editor=/.test(word))) return false;
  if (words.includes('rebase')) return words.some((word) => /^(?:-i|--interactive)$/.test(word));
  if (!words.includes('commit')) return false;
  return !words.some((word) =>
    /^-[a-zA-Z]*[mFC]|^--(?:message|file|reuse-message|no-edit|fixup|dry-run|allow-empty-message)\b/.test(word),
  );
}

/** Returns whether a program writes what is typed into a file: `cat > f`, `tee f`, `dd of=f`. */
function copiesIntoFile(name: string, operands: readonly string[], { writes }: ShellReading): boolean {
  if (name === 'tee' || name === 'sponge') return true;
  if (name === 'dd') return !operands.some((word) => word.startsWith('if='));
  const isCopy = COPIES.has(name) && operands.every((word) => word === '-');
  return isCopy && writes.some(({ by, how }) => by === name && how === 'redirect');
}
