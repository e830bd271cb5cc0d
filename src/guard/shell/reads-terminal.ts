import { basenameOf, isShell } from './program-words.ts';
import type { ShellCommand, ShellReading } from './shell-reading.ts';
import { byProgram } from './words.ts';

/** Programs with a prompt, or with keys that run commands, wherever their input comes from. */
const ALWAYS = new Set(
  'vi vim view nvim vimdiff ex emacs nano pico micro hx joe less more most gdb lldb screen tmux script sftp ftp telnet visudo vipw bpython ipython ptpython pry iex mc ranger'.split(
    ' ',
  ),
);
/** Options with which those do their work and exit, or start in the background. */
const LEAVES = byProgram<RegExp>({
  'vi vim nvim ex': /^-[a-zA-Z]*[eE]s$|^--(?:version|help)$/,
  emacs: /^--?(?:batch|script)$/,
  'gdb lldb': /^--?batch$/,
  'tmux screen': /^-[a-zA-Z]*[dV]|^(?:kill|ls|list|send|has|new|start|set|show|capture|display)/,
  script: /^-[a-zA-Z]*c/,
});

/**
 * Programs that run their standard input unless their words name a program, and the options that do. The value of an option that
 * is not listed may be taken for a program: then the call is judged by the other rules alone.
 */
const RUNS_INPUT = byProgram<RegExp>({
  'python python2 python3 pypy pypy3': /^-[a-zA-Z]*[cm]$|^-m./,
  'node nodejs tsx ts-node': /^-(?:e|p|pe|c)$|^--(?:eval|print|check|run|test)\b/,
  'ruby perl irb': /^-[a-zA-Z0-9]*[eE]/,
  php: /^-[rSlfB]/,
  'lua luajit Rscript R julia ghci ocaml utop guile racket sbcl tclsh wish scala clojure clj groovysh swift jshell erl elixir expect bc dc ed psql mysql mariadb mongosh mongo redis-cli clickhouse-client':
    /^-(?:e|c|f|E)$|^--(?:eval|command|execute|file|script|load|batch)\b/,
  'at batch crontab': /^-[lrf]$/,
});
/** Programs whose operands name a data base or a place, not a program. */
const PLACES = new Set(
  'psql mysql mariadb mongosh mongo redis-cli clickhouse-client at batch ed bc dc ghci jshell'.split(' '),
);

/** Words that start a debugger or a prompt in an interpreter: `python -m pdb`, `node inspect`. */
const DEBUGGER = /^(?:pdb|code|IPython|ptpython|bpython|inspect)$/;

/** Programs that copy standard input when no operand names a file. */
const COPIES = new Set('cat tac head tail sort uniq tr sed cut rev nl fold expand column'.split(' '));

const TERMINAL = /^\/dev\/(?:tty|stdin|fd\/0|pts\/.*)$|^\/proc\/self\/fd\/0$/;
const VERSION = /^(?:-V|--version|--help|-h)$/;

/**
 * Returns the first program of a command that takes commands, or the content of a file, from the terminal; null if there is none.
 * Its client types into a running command without asking a hook.
 */
export function readsTerminal(reading: ShellReading): string | null {
  const fed = [...reading.commands, ...reading.opened].find((command) => takesInput(command, reading));
  if (fed !== undefined) return fed.name;
  const read = reading.reads.find(({ target }) => target !== null && TERMINAL.test(target));
  return read === undefined ? null : read.by || 'this redirection';
}

function takesInput(command: ShellCommand, reading: ShellReading): boolean {
  const name = basenameOf(command.name);
  const words = command.argv.slice(1).map(({ template }) => template);
  if (words.some((word) => VERSION.test(word))) return false;
  if (ALWAYS.has(name)) return !words.some((word) => LEAVES(name)?.test(word));
  const operands = words.filter((word) => !word.startsWith('-') || word === '-');
  if (words.some((word) => /^--?(?:i|interactive)$/.test(word)) && (isShell(name) || RUNS_INPUT(name) !== undefined))
    return command.stdinFrom === 'none' && !words.includes('-c');
  if (name === 'git') return asksEditor(command, words);
  if (command.stdinFrom !== 'none') return false;
  if (isShell(name)) return command.opened !== true && (operands.every((word) => word === '-') || words.includes('-s'));
  if (['read', 'mapfile', 'readarray', 'select', 'xargs', 'parallel'].includes(name))
    return !words.some((word) => /^-u|^-a|^--arg-file/.test(word));
  if (/^(?:source|\.)$/.test(name)) return words.some((word) => TERMINAL.test(word));
  if (/^(?:docker|podman|kubectl|nerdctl|ssh|su|sudo)$/.test(name)) return hasShellOf(name, words, operands);
  if (words.some((word, at) => DEBUGGER.test(word) && (words[at - 1] === '-m' || at === 0)))
    return RUNS_INPUT(name) !== undefined;
  const codes = RUNS_INPUT(name);
  if (codes !== undefined) {
    const isNamed = operands.some((word) => word !== '-') && !PLACES.has(name);
    return !isNamed && !words.some((word) => codes.test(word));
  }
  if (name === 'deno' || name === 'bun') return operands.length === 0 || operands[0] === 'repl';
  if (name === 'sqlite3' || name === 'duckdb') return operands.length < 2;
  return copiesIntoFile(name, operands, reading);
}

/** Returns whether a program in another place gets a terminal: `docker exec -it`, `ssh HOST`, `sudo -i`. */
function hasShellOf(name: string, words: readonly string[], operands: readonly string[]): boolean {
  if (name === 'ssh') return operands.length < 2 && !words.some((word) => /^-[a-zA-Z]*[GNTQf]/.test(word));
  if (name === 'su') return !words.some((word) => /^-c$|^--command/.test(word));
  if (name === 'sudo') return operands.length === 0 && words.some((word) => /^-[a-zA-Z]*[is]$/.test(word));
  const command = operands[0] === 'compose' ? operands[1] : operands[0];
  if (!/^(?:run|exec|attach|debug)$/.test(command ?? '')) return false;
  return command === 'attach' || words.some((word) => /^-[a-zA-Z]*t[a-zA-Z]*$|^--tty$/.test(word));
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
