import { basenameOf, isShell } from './program-words.ts';
import { readShellCommand } from './read-shell-command.ts';
import type { FileAccess, ShellCommand, ShellReading } from './shell-reading.ts';
import { byProgram, STDIN } from './words.ts';

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
  screen: /^-[a-zA-Z]*(?:d[a-zA-Z]*m|m[a-zA-Z]*d)|^-(?:ls|list|wipe|X|Q|v)$/,
  tmux: /^-V$/,
  script: /^-[a-zA-Z]*c/,
});

/**
 * Programs that run their standard input unless their words name a program, and the options that do. The value of an option that
 * is not listed may be taken for a program: then the call is judged by the other rules alone.
 */
const RUNS_INPUT = byProgram<RegExp>({
  'python python2 python3 pypy pypy3 ipython': /^-[a-zA-Z]*[cm]$|^-m./,
  'node nodejs tsx ts-node': /^-(?:e|p|pe|c|v)$|^--(?:eval|print|check|run|test)\b/,
  'ruby perl irb': /^-[a-zA-Z0-9]*[eE]|^-v$/,
  php: /^-[rSlfBimv]/,
  psql: /^-[aAbEeHnqStwWxX01]*[cfl]|^--(?:command|file|list)\b/,
  'mysql mariadb': /^-[ABNbfinqrstvwHXE]*e|^--execute\b/,
  'clojure clj': /^-[eTX]|^-m$|^-M:[\w:-]*\b(?:test|build)\b|^--(?:eval|main)\b/,
  'redis-cli': /^--(?:scan|pipe|stat|bigkeys|memkeys|latency|eval|rdb|cluster)\b/,
  'lua luajit Rscript R julia ghci ocaml utop guile racket sbcl tclsh wish scala groovysh swift jshell erl elixir expect bc dc ed mongosh mongo clickhouse-client':
    /^-(?:e|c|f|E)$|^--(?:eval|command|execute|file|script|load|batch)\b/,
  'at batch crontab': /^-[lrf]$/,
});
/** Programs whose operands name a data base or a place, not a program. */
const PLACES = new Set('psql mysql mariadb mongosh mongo clickhouse-client at batch ed bc dc ghci jshell'.split(' '));
/** Options of those whose value is the next word, which names no program. */
const TAKES_VALUE = byProgram<RegExp>({
  'python python2 python3 pypy pypy3': /^-[a-zA-Z]*[WX]$/,
  ipython: /^--(?!no-|quick|classic|simple)[^=]*$/,
  'node nodejs tsx ts-node': /^-[rC]$|^--(?:require|import|loader|experimental-loader|conditions|env-file)$/,
  ruby: /^-[rIC]$/,
  php: /^-[cdz]$/,
  'redis-cli': /^-[hpnau]$/,
});
/** Interpreters whose option -i starts no prompt: it edits files in place, or prints settings. */
const NO_PROMPT = new Set(['perl', 'ruby', 'php']);

/** Returns whether Python gets -i among other letters: `python3 -ic pass`. */
const isPythons = (name: string, [first = '']: readonly string[]): boolean =>
  /^i?python|^pypy/.test(name) && /^-[bBdEIOPqRsSuvx]*i/.test(first);

/** Words that start a debugger or a prompt in an interpreter: `python -m pdb`, `node inspect`. */
const DEBUGGER = /^(?:pdb|code|IPython|ptpython|bpython|inspect)$/;
/** Commands of frameworks that start a prompt: `python manage.py shell`, `rails console`. */
const CONSOLE =
  /^(?:(?:python[\d.]*|ruby|php|bundle exec) )?(?:\S*\/)?(?:manage\.py (?:shell|shell_plus|dbshell)|rails (?:c|console|db|dbconsole)|artisan tinker|flask shell)(?: |$)/;

/** Programs that copy standard input when no operand names a file. */
const COPIES = new Set('cat tac head tail sort uniq tr sed cut rev nl fold expand column'.split(' '));

/** Number of operands of programs that copy standard input, before the names of files. */
const BEFORE_FILES: Readonly<Record<string, number>> = { tr: 2, sed: 1, grep: 1, awk: 1 };

/** Every descriptor of the terminal can be read, that of standard output as well. */
const TERMINAL = /^\/dev\/(?:tty|stdin|stdout|stderr|fd\/[012]|console|pts\/.*)$|^\/proc\/[^/]+\/fd\/[012]$/;
const VERSION = /^(?:-V|--version|--help|-h)$/;

/**
 * Returns the first program of a command that takes commands, or the content of a file, from the terminal; null if there is none.
 * Its client types into a running command without asking a hook.
 */
export function readsTerminal(reading: ShellReading): string | null {
  const fed = [...reading.commands, ...reading.opened].find((command) => takesInput(command, reading));
  if (fed !== undefined) return fed.name;
  const piped = reading.pipelines.find((elements) => elements.some((_, at) => pipesTerminal(elements, at, reading)));
  if (piped !== undefined) return piped[0]?.[0]?.name ?? 'this pipe';
  // Standard input that a pipe or a file gives another command gives this one nothing.
  const isOpen = ({ by, word }: FileAccess): boolean =>
    reading.commands.some(
      ({ name, argv, stdinFrom }) =>
        name === by && stdinFrom === 'none' && argv.some(({ template }) => template === word.template),
    );
  const read = reading.reads.find(
    (each) => each.target !== null && TERMINAL.test(each.target) && (!STDIN.test(each.target) || isOpen(each)),
  );
  return read === undefined ? null : read.by || 'this redirection';
}

/** Returns whether an element of a pipeline copies the terminal to a later one that runs its input: `cat | bash`. */
function pipesTerminal(elements: ShellReading['pipelines'][number], at: number, reading: ShellReading): boolean {
  const isCopied = elements[at]?.some(({ name, argv, stdinFrom }) => {
    const words = argv.slice(1).map(({ template }) => template);
    return stdinFrom === 'none' && copiesInput(basenameOf(name), words);
  });
  const later = elements.slice(at + 1).flat();
  return isCopied === true && later.some((each) => takesInput({ ...each, stdinFrom: 'none' }, reading));
}

function copiesInput(name: string, words: readonly string[]): boolean {
  const operands = words.filter((word) => (!word.startsWith('-') && !/^\d+$/.test(word)) || word === '-');
  if (name === 'tee') return true;
  if (!COPIES.has(name) && !/^(?:grep|awk)$/.test(name)) return false;
  if (words.some((word) => /^-[a-zA-Z]*[rR]|^BEGIN/.test(word)) && /^(?:grep|awk)$/.test(name)) return false;
  const files = operands.slice(BEFORE_FILES[name] ?? 0);
  return files.every((word) => word === '-');
}

function takesInput(command: ShellCommand, reading: ShellReading): boolean {
  const name = basenameOf(command.name);
  const words = command.argv.slice(1).map(({ template }) => template);
  if (words.some((word) => VERSION.test(word))) return false;
  if (name === 'tmux') return attachesTmux(words);
  if (name === 'screen' && /(?:^| )-d (?:.* )?-m(?: |$)/i.test(words.join(' '))) return false;
  if (ALWAYS.has(name)) return !words.some((word) => LEAVES(name)?.test(word));
  const operands = words.filter((word) => !word.startsWith('-') || word === '-');
  const isAsked =
    (!NO_PROMPT.has(name) && words.some((word) => /^--?(?:i|interactive)$/.test(word))) || isPythons(name, words);
  if (isAsked && (isShell(name) || RUNS_INPUT(name) !== undefined))
    return command.stdinFrom === 'none' && !(isShell(name) && words.includes('-c'));
  if (name === 'git') return asksEditor(command, words);
  if (command.stdinFrom !== 'none') return false;
  if (PROMPTS.has(name)) return !words.some((word) => LEAVES(name)?.test(word));
  if (isShell(name)) return command.opened !== true && (operands.every((word) => word === '-') || words.includes('-s'));
  if (['read', 'mapfile', 'readarray', 'select', 'xargs', 'parallel'].includes(name))
    return !words.some((word) => /^-u|^-a|^--arg-file|^:::/.test(word));
  if (/^(?:source|\.)$/.test(name)) return words.some((word) => TERMINAL.test(word));
  if (/^(?:docker|docker-compose|podman|kubectl|nerdctl|ssh|su|sudo)$/.test(name))
    return hasShellOf(name, words, operands);
  if (words.some((word, at) => DEBUGGER.test(word) && (words[at - 1] === '-m' || at === 0)))
    return RUNS_INPUT(name) !== undefined;
  if (CONSOLE.test([name, ...operands].join(' ')))
    return !words.some((word) => /^-c$|^--(?:command|execute)\b/.test(word));
  const codes = RUNS_INPUT(name);
  if (codes !== undefined) {
    const own = operandsOf(words, (word) => TAKES_VALUE(name)?.test(word) === true);
    const isNamed = own.some((word) => word !== '-') && !PLACES.has(name);
    return !isNamed && !words.some((word, at) => codes.test(word) && !namesInput(word, words[at + 1]));
  }
  if (name === 'deno' || name === 'bun') return operands.length === 0 || operands[0] === 'repl';
  if (name === 'sqlite3' || name === 'duckdb')
    return operands.length < 2 && !(name === 'duckdb' && words.some((word) => /^-[csf]$/.test(word)));
  return copiesIntoFile(name, operands, reading);
}

/** Options of ssh whose value is the next word. */
const SSH_VALUE = /^-[46AaCKkqVvXxYyt]*[BbcDEeFIiJLlmOoPpRSWw]$/;

/** Returns whether a program in another place gets a terminal: `docker exec -it`, `ssh HOST`, `sudo -i`. */
function hasShellOf(name: string, words: readonly string[], operands: readonly string[]): boolean {
  if (name === 'ssh') {
    const named = operandsOf(words, (word) => SSH_VALUE.test(word));
    return named.length < 2 && !words.some((word) => /^-[46AaCgKkMnqstVvXxYy]*[GNTQf]/.test(word));
  }
  if (name === 'su') return !words.some((word) => /^-c$|^--command/.test(word));
  if (name === 'sudo') return operands.length === 0 && words.some((word) => /^-[a-zA-Z]*[is]$/.test(word));
  const isCompose = name === 'docker-compose' || operands[0] === 'compose';
  const verb = operands.find((word) => /^(?:run|exec|attach|debug)$/.test(word));
  if (verb === undefined) return false;
  if (verb === 'attach') return true;
  const isAsked = words.some((word) => /^-[a-zA-Z]*t[a-zA-Z]*$|^--tty$/.test(word));
  // Compose gives a terminal unasked.
  if (!isAsked && (!isCompose || words.some((word) => /^-[a-z]*T|^--no-(?:TTY|tty)/.test(word)))) return false;
  const from = words.indexOf(verb) + 1;
  // A service or a container may have the name of a program.
  const isPlace = (at: number): boolean =>
    (isCompose || verb === 'exec') && at >= from && words.slice(from, at).every((word) => FLAGS.test(word));
  const isStarted = words.some(
    (word, at) => at > 0 && !isPlace(at) && isPrompt(basenameOf(word)) && isPromptWith(word, words.slice(at + 1)),
  );
  if (isStarted || words.some((word, at) => word === '-c' && isShell(words[at - 1] ?? '') && asks(words[at + 1] ?? '')))
    return true;
  // Nothing but a place: its own program starts.
  return isAsked && operandsOf(words, (word) => !FLAGS.test(word)).length < (operands[0] === 'compose' ? 4 : 3);
}

/** Returns whether the text of a shell in another place takes commands from its terminal. */
function asks(text: string): boolean {
  const reading = readShellCommand(text, { cwd: '/', home: '/', variables: {}, directoryExists: () => false });
  return readsTerminal(reading) !== null;
}

/** Options of `docker run` and its kin that have no value. Any other one may have one, which is then no operand. */
const FLAGS =
  /=|^--$|^-[itdPq]+$|^--(?:rm|init|privileged|tty|interactive|detach|read-only|no-deps|service-ports|stdin|quiet)$/;

function isPrompt(name: string): boolean {
  const isProgram = isShell(name) || ALWAYS.has(name) || PROMPTS.has(name) || RUNS_INPUT(name) !== undefined;
  return isProgram || /^(?:su|sudo|login)$/.test(name);
}

/** Returns whether a shell, an interpreter or an editor reads its terminal with these words. */
function isPromptWith(path: string, words: readonly string[]): boolean {
  const name = basenameOf(path);
  if (name === 'sudo') return words.some((word) => /^-[a-zA-Z]*[is]$/.test(word));
  if (name === 'su' || name === 'login') return !words.some((word) => /^-c$|^--command/.test(word));
  if (ALWAYS.has(name) || PROMPTS.has(name)) return true;
  const codes = isShell(name) ? /^-[a-zA-Z]*c$/ : RUNS_INPUT(name);
  const [first = '-'] = words;
  // A container may be called mysql as well: `docker exec -it mysql mysqldump shop`.
  const isPlace = PLACES.has(name) && !/^(?:mysql|mariadb|mongo|pg_)\w+$/.test(first);
  return !words.some((word) => codes?.test(word)) && (first.startsWith('-') || isPlace);
}

/** Returns whether an option names standard input as the file to be run: `psql -f -`. */
function namesInput(option: string, value = ''): boolean {
  const [, own] = /^(?:-f|--file=)(.+)$/.exec(option) ?? [];
  const file = own ?? (/f$|^--file$/.test(option) ? value : '');
  return file === '-' || STDIN.test(file);
}

/** Returns whether a tmux shows its terminal; most of its commands only tell the server something. */
function attachesTmux(words: readonly string[]): boolean {
  const [verb = 'new', ...rest] = operandsOf(words, (word) => /^-[fLSc]$/.test(word));
  if (/^(?:new|new-session)$/.test(verb)) return !words.some((word) => /^-[A-Za-z]*d/.test(word)) || verb === rest[0];
  return !/^(?:kill|ls|list|send|has|neww|new-w|start|set|show|capture|display)/.test(verb) && !words.includes('-V');
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
