import { basenameOf } from './program-words.ts';
import { readShellCommand } from './read-shell-command.ts';
import { type FileAccess, type ShellCommand, type ShellReading, type ShellWord, UNKNOWN } from './shell-reading.ts';
import { CONTAINER_VALUES, entrypoint } from './unwrap/unwrap.ts';
import { byProgram, hasOption, type Option, STDIN, splitOptions } from './words.ts';

/** A program that takes commands from its standard input unless its words give it a program. */
interface Prompt {
  /** Options whose value is the next word, which is then no program. */
  readonly values?: string;
  /** Options that give the program, or with which it reads nothing. */
  readonly given?: string;
  /** Options with which it prompts in spite of a program. */
  readonly asks?: string;
  /** Number of operands before one that is a program; default 0, and options end at the program. */
  readonly places?: number;
  /** Modules and first operands that are a prompt or a debugger. */
  readonly debuggers?: RegExp;
  /** Operands with which it prompts; it does not with others. */
  readonly verbs?: RegExp;
  /** The options end with the one that gives the program. */
  readonly ends?: true;
  /** One dash begins a whole word, as in `-batch`; case does not count. */
  readonly words?: true;
  /** Words that say nothing here, and whose letters are no options: `-pPASSWORD`. */
  readonly skips?: RegExp;
  /** Keys run commands. They come from the terminal, wherever the standard input comes from. */
  readonly keys?: true;
}

const ANY = Number.POSITIVE_INFINITY;

const promptOf = byProgram<Prompt>({
  'bash sh zsh dash ksh mksh ash fish rbash csh tcsh yash posh nu elvish xonsh osh ysh cmd': {
    values: '-o -O -C --rcfile --init-file --init-command',
    given: '-c --command --commands',
    asks: '-s',
  },
  'pwsh powershell': {
    values: '-wd -ex -ep --workingdirectory --executionpolicy --configurationname --settingsfile',
    given: '-c -f -e -v --command --file --encodedcommand --ec --commandwithargs --cwa',
    asks: '--noexit',
    words: true,
  },
  'python pypy': {
    values: '-c -m -W -X --check-hash-based-pycs',
    given: '-c -m -V -h',
    asks: '-i',
    debuggers: /^(?:i?pdb|pudb|code|asyncio|IPython|[bp]tpython|bpython)$/,
    ends: true,
  },
  ipython: {
    values: '-c -m --profile --profile-dir --ipython-dir --config --colors --ext --logfile --gui --matplotlib --pylab',
    given: '-c -m -h',
    asks: '-i',
  },
  'node nodejs tsx ts-node': {
    values:
      '-r -C -e -p -P -O --eval --print --require --import --loader --experimental-loader --conditions --env-file --env-file-if-exists --title --input-type --inspect-port --icu-data-dir --openssl-config --redirect-warnings --diagnostic-dir --report-dir --report-filename --unhandled-rejections --disable-warning --watch-path --tsconfig --project --compiler-options --localstorage-file --trace-event-categories --max-http-header-size --dns-result-order',
    given: '-e -p -c -v -h --eval --print --check --run --test --prof-process --v8-options --build-snapshot',
    asks: '-i --interactive',
    debuggers: /^(?:inspect|debug)$/,
  },
  'ruby irb jruby': { values: '-r -I -C -E -F -e', given: '-e -v -h', skips: /^-[WTK]./ },
  perl: { values: '-I -e -E -M -m', given: '-e -E -v -V -h', asks: '-d', skips: /^-d:/ },
  php: { values: '-d -c -z -t', given: '-f -r -R -F -B -E -S -i -m -v -h -s -w --run --ini', asks: '-a --interactive' },
  'lua luajit': { values: '-e -l', given: '-e -v', asks: '-i' },
  'R Rscript': { values: '-e -f -g -d', given: '-e -f --file', asks: '--interactive' },
  julia: {
    values: '-e -E -p -t -J -L -C --threads --procs --load --sysimage',
    given: '-e -E -m -v -h --eval --print',
    asks: '-i',
  },
  guile: { values: '-L -C -x -l -e', given: '-c -s -v -h' },
  racket: { values: '-I -S -X', given: '-e -f -t -l -r -m -p -u -k', asks: '-i' },
  'tclsh wish expect jimsh': { values: '-encoding', given: '-c', asks: '-i' },
  'sbcl ecl clisp ocaml utop scala groovy groovysh kotlinc kotlin erl elixir amm csi octave maxima gp gforth bb swipl':
    {
      values: '-I -r -i --core --init --open --classpath --cp --sname --name --setcookie --pa',
      given: '-e -x -S -v -q --script --non-interactive --eval --load --noshell --noinput --execute --detached',
      words: true,
    },
  ghc: { given: '-e', asks: '--interactive', verbs: /(?!)/ },
  'clojure clj': {
    values: '-e -i -m --sdeps --init',
    given: '-e -m -M -X -T -P --eval --main --spath --stree --sdescribe --spom',
    words: true,
    // Another alias names a program to be run; these only add libraries.
    skips: /^-(?:A.*|M(?::(?:dev|repl|user|local|nrepl|rebel|cider|portal|reveal|debug))*)$/,
  },
  psql: {
    values:
      '-h -p -U -d -c -f -v -o -F -P -R -T -L --host --port --username --dbname --command --file --set --variable',
    given: '-c -f -l -V --command --file --list',
    places: ANY,
  },
  'mysql mariadb mycli': {
    values: '-h -u -P -D -S -e --host --user --port --database --socket --execute',
    given: '-e -V --execute',
    places: ANY,
    skips: /^-p./,
  },
  'mongosh mongo': {
    values: '-u -p --host --port --username --password --authenticationDatabase --eval --file',
    given: '-f --eval --file',
    places: 1,
  },
  'sqlite duckdb': {
    values: '-c -s -f --cmd --init --separator --newline --nullvalue --maxsize',
    given: '-c -s -f',
    places: 1,
    words: true,
  },
  'redis-cli valkey-cli': {
    values: '-h -p -s -a -u -n -r -i --user --pass --cacert --cert --key --sni',
    given: '--scan --pipe --stat --bigkeys --memkeys --hotkeys --latency --latency-history --eval --rdb --cluster',
  },
  'clickhouse-client cqlsh sqlcmd usql pgcli litecli sqlplus cypher-shell spark-sql beeline': {
    values: '-h -u -d -p -U -H -P --host --port --user --password --database',
    given: '-q -e -f -c -Q -i --query --queries-file --execute --file --command',
    places: ANY,
  },
  'pyspark spark-shell bpython ptpython pry iex sftp ftp telnet mosh newgrp login rlogin gdb gdb-multiarch lldb jdb': {
    given: '-b --batch',
    places: ANY,
    words: true,
  },
  'ed bc dc jshell ghci': { values: '-f -e', given: '-e -f --expression --file', places: ANY },
  'at batch fdisk parted': { given: '-l -r -d -f -c -s', places: ANY },
  'sudo doas': {
    values: '-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot',
    given: '-l -v -k -K -V',
    asks: '-e --edit',
  },
  'su runuser': { values: '-s -g -w -c -u --shell --group --user', given: '-c -u --command', places: ANY },
  'unshare nsenter firejail fakeroot rlwrap winpty proot': { values: '-t -S -G --target --setuid --setgid' },
  chroot: { values: '--userspec --groups', places: 1 },
  'deno swift': { verbs: /^(?:repl.*)?$/ },
  'bun dotnet': { verbs: /^(?:repl|fsi)$/ },
  'nix-shell': { values: '-p -A -I --packages --attr', given: '--run --command', places: ANY },
  'nix guix devbox hatch pipenv poetry rebar toolbox distrobox multipass machinectl vagrant pixi minikube colima limactl fly flyctl gcloud':
    {
      verbs: /(?:^| )(?:shell|develop|repl|enter|ssh)(?: |$)/,
      given: '-c --command --run',
    },
  'cabal stack lein mill bundle spago': { verbs: /^(?:repl|ghci|console)\b/ },
  sbt: { verbs: /^(?:console.*|shell)?$/ },
  'manage.py django django-admin': { verbs: /(?:^| )(?:shell(?:_plus)?|dbshell)$/, given: '-c --command' },
  rails: { values: '-e --environment', verbs: /^(?:c|console|db|dbconsole)(?: |$)/ },
  'artisan flask wp drush': { verbs: /(?:^| )(?:tinker|shell|db|db cli|php:cli|sql:cli)$/, given: '--execute' },
  'vi vim view nvim vimdiff ex rvim vim.basic vim.tiny emacs nano pico micro hx helix joe kak less more most visudo vipw vigr sudoedit editor sensible-editor mc mcedit ranger nnn lf vifm tig lazygit gitui zellij byobu':
    { given: '--es --nes --batch --script --daemon', places: ANY, words: true, keys: true },
  script: { values: '-c -I -O -B -E -m -T', given: '-c --command', places: ANY, keys: true },
  crontab: { values: '-u', given: '-l -r', asks: '-e' },
});

/** The name of a program may end in a version: `python3.12`, `psql-16`. */
const VERSION = /-?\d[\d.]*(?:t|-dbg)?$/;
/** Variables that name a program. */
const VARIABLES: ReadonlyArray<readonly [RegExp, string]> = [
  [/^"?\$\{?(?:SHELL|BASH|0)\b/, 'bash'],
  [/^"?\$\{?(?:EDITOR|VISUAL|GIT_EDITOR)\b/, 'vi'],
  [/^"?\$\{?PYTHON3?\b/, 'python'],
  [/^"?\$\{?NODE\b/, 'node'],
];

/** Programs that copy standard input when no operand names a file, and the number of operands before those. */
const COPIES = new Map<string, number>([
  ...'cat tac head tail sort uniq cut rev nl fold expand column base64 xxd gunzip zcat iconv envsubst pv'
    .split(' ')
    .map((name): [string, number] => [name, 0]),
  ...['sed', 'grep', 'awk', 'jq'].map((name): [string, number] => [name, 1]),
  ['tr', 2],
]);

/** Every descriptor of the terminal can be read, that of standard output as well. */
const TERMINAL = /^\/dev\/(?:tty|stdin|stdout|stderr|console|pts\/.*)$|^\/(?:dev|proc\/[^/]+)\/fd\/[012]$/;

/**
 * Returns the first program of a command that takes commands, or the content of a file, from the terminal; null if there is none.
 * Its client types into a running command without asking a hook.
 */
export function readsTerminal(reading: ShellReading): string | null {
  const fed = [...reading.commands, ...reading.opened].find((command) => takesInput(command, reading));
  if (fed !== undefined) return fed.name === '' ? (fed.argv[0]?.source ?? '') : fed.name;
  const piped = reading.pipelines.find((elements) => elements.some((_, at) => pipesTerminal(elements, at, reading)));
  if (piped !== undefined) return piped[0]?.[0]?.name ?? 'this pipe';
  // Standard input that a pipe or a file gives another command gives this one nothing.
  const isOpen = ({ by, word }: FileAccess): boolean =>
    reading.commands.some(
      ({ name, argv, stdinFrom }) =>
        name === by && stdinFrom === 'none' && argv.some(({ template }) => template === word.template),
    );
  const read = reading.reads.find(
    (each) => each.target !== null && isTerminal(each.target, reading) && (!STDIN.test(each.target) || isOpen(each)),
  );
  return read === undefined ? null : read.by || 'this redirection';
}

function isTerminal(path: string, { copies }: ShellReading): boolean {
  return TERMINAL.test(path) || copies.some((descriptor) => path === `/dev/fd/${descriptor}`);
}

/** Returns whether an element of a pipeline copies the terminal to a later one that runs its input: `cat | bash`. */
function pipesTerminal(elements: ShellReading['pipelines'][number], at: number, reading: ShellReading): boolean {
  const isCopied = elements[at]?.some((each) => each.stdinFrom === 'none' && copiesInput(each)) === true;
  const later = isCopied ? elements.slice(at + 1).flat() : [];
  return later.some((each) => takesInput({ ...each, stdinFrom: 'none' }, reading));
}

function copiesInput({ name, argv }: ShellCommand): boolean {
  const words = argv.slice(1).map(({ template }) => template);
  if (name === 'tee' || name === 'sponge') return true;
  if (name === 'dd') return !words.some((word) => word.startsWith('if='));
  const before = COPIES.get(name);
  if (
    before === undefined ||
    (/^(?:grep|awk)$/.test(name) && words.some((word) => /^-[a-zA-Z]*[rR]|^BEGIN/.test(word)))
  )
    return false;
  const operands = words.filter((word) => (!word.startsWith('-') && !/^\d+$/.test(word)) || word === '-');
  return operands.slice(before).every((word) => word === '-');
}

function takesInput(command: ShellCommand, reading: ShellReading): boolean {
  const { name, argv, stdinFrom } = command;
  const args = argv.slice(1);
  const words = args.map(({ template }) => template);
  if (name === 'git') return asksEditor(command, words);
  if (name === 'tmux') return attachesTmux(words);
  if (name === 'screen') return !LEAVES_SCREEN.test(words.join(' '));
  const prompt = promptFor(argv[0]);
  if (stdinFrom !== 'none' && prompt?.keys !== true) return false;
  if (prompt !== undefined) return prompts(args, prompt);
  if (name === 'read' || name === 'mapfile' || name === 'readarray') {
    const from = splitOptions(args, '-u -p -d -n -N -t -i -O -s -c -C').options.find((each) => each.name === '-u');
    return from === undefined || isTerminal(`/dev/fd/${from.value?.template}`, reading);
  }
  if (name === 'xargs' || name === 'parallel') return !words.some((word) => /^-a|^--arg-file|^:::/.test(word));
  if (name === 'source' || name === '.') return words.some((word) => isTerminal(word, reading));
  if (PLACES.test(name)) return asksElsewhere(name, args);
  // `rbenv exec irb`, `crictl exec -i ID sh`
  const started = words.includes('exec') ? args.slice(words.indexOf('exec') + 1) : [];
  const at = started.findIndex((word) => promptFor(word) !== undefined);
  if (at !== -1) return promptsIn(started.slice(at));
  // What it copies would be run as a text, or stand in a file: `bash -c "$(cat)"`, `cat > f`.
  return (command.away === true || name === 'tee' || name === 'dd') && copiesInput(command);
}

function promptFor(word: ShellWord | undefined): Prompt | undefined {
  const { template = '', source = '' } = word ?? {};
  const meant = VARIABLES.find(([variable]) => template.includes(UNKNOWN) && variable.test(source))?.[1];
  const name = meant ?? basenameOf(template);
  return promptOf(name) ?? promptOf(name.replace(VERSION, ''));
}

/** Returns whether a program takes commands from its terminal when it is called with these words. */
function prompts(args: readonly ShellWord[], prompt: Prompt): boolean {
  const { values = '', given = '', asks = '', places = 0, verbs, debuggers } = prompt;
  const isNamed = (names: string, { name }: Option): boolean => ` ${names} `.includes(` ${name} `);
  const gives = (option: Option): boolean => isNamed(given, option) && !namesInput(option);
  const own = args
    .filter(({ template }) => prompt.skips?.test(template) !== true)
    .map((word) => asOption(word, prompt));
  const split = splitOptions(own, values, prompt.places === undefined && verbs === undefined);
  const { operands } = split;
  const first = split.options.findIndex(gives);
  const options = prompt.ends === true && first !== -1 ? split.options.slice(0, first + 1) : split.options;
  if (options.some((option) => isNamed(asks, option))) return true;
  const module = options.find(({ name }) => debuggers !== undefined && name === '-m')?.value;
  if (module !== undefined) return debuggers?.test(module.template) === true || promptsIn([module, ...operands]);
  if (options.some((option) => gives(option) || isNamed('--help --version', option))) return false;
  if (verbs !== undefined) return verbs.test(operands.map(({ template }) => template).join(' '));
  const [script, ...rest] = operands.slice(places);
  if (script === undefined || script.template === '-' || TERMINAL.test(script.template)) return true;
  return places === 0 && (debuggers?.test(script.template) === true || promptsIn([script, ...rest]));
}

/** The same for a program that another one is given: `php artisan tinker`, `unshare bash`. */
function promptsIn([program, ...args]: readonly ShellWord[]): boolean {
  const prompt = promptFor(program);
  return prompt !== undefined && prompts(args, prompt);
}

/** Returns `-batch` as `--batch` where one dash begins a whole word, and `+o` of a shell as `-o`. */
function asOption(word: ShellWord, { words }: Prompt): ShellWord {
  const { template } = word;
  if (words === true && /^-[a-zA-Z]{2,}(?:=|$)/.test(template))
    return { ...word, template: `-${template.toLowerCase()}` };
  return /^\+[oO]$/.test(template) ? { ...word, template: '-o' } : word;
}

/** Returns whether an option names standard input as the file to be run: `psql -f -`. */
function namesInput({ name, value }: Option): boolean {
  return /^--?f(?:ile)?$/.test(name) && value !== undefined && (value.template === '-' || STDIN.test(value.template));
}

/** Programs that start another one in another place. */
const PLACES = /^(?:docker|docker-compose|podman|podman-compose|nerdctl|kubectl|oc|lxc|incus|ssh)$/;
const SSH_VALUES = '-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -P -p -R -S -W -w';
const GLOBAL_VALUES =
  '-c -H -l -f -p -n -s --context --host --log-level --config --file --project-name --profile --env-file --project-directory --ansi --parallel --progress --namespace --kubeconfig --cluster --server --user --token --request-timeout --connection --url --tlscacert --tlscert --tlskey --as --as-group --as-uid --cache-dir --certificate-authority --client-certificate --client-key --tls-server-name --username --password -v --root --runroot --runtime --storage-driver --storage-opt --identity --log-opt --address --snapshotter --data-root';
const OTHER_VALUES = `${CONTAINER_VALUES} -n -f --container --namespace --image --index --label --target --overrides --context --kubeconfig`;
/** Options of containers without a value. */
const SWITCHES =
  /^--(?:detach|init|interactive|stdin|tty|privileged|publish-all|read-only|read-only-tmpfs|rm|rmi|replace|quiet|quiet-pull|sig-proxy|oom-kill-disable|disable-content-trust|use-api-socket|env-host|http-proxy|rootfs|passwd|latest|service-ports|use-aliases|build|remove-orphans|no-.*)$/;

/** Returns whether a program in another place gets the terminal and takes commands from it: `docker exec -i web sh`. */
function asksElsewhere(place: string, args: readonly ShellWord[], more = ''): boolean {
  if (place === 'ssh') {
    const split = splitOptions(args, SSH_VALUES, true);
    // Options may stand behind the host as well.
    const behind = splitOptions(split.operands.slice(1), SSH_VALUES, true);
    const isMute = [split, behind].some((each) => hasOption(each, '-G', '-N', '-T', '-Q', '-f', '-O', '-W', '-V'));
    return !isMute && asks(behind.operands.map(({ text, source }) => text ?? source).join(' '), true);
  }
  let [verb, ...given] = splitOptions(args, GLOBAL_VALUES, true).operands;
  let isCompose = place.endsWith('-compose');
  while (verb?.template === 'compose' || verb?.template === 'container') {
    isCompose ||= verb.template === 'compose';
    [verb, ...given] = splitOptions(given, GLOBAL_VALUES, true).operands;
  }
  const isOfSystem = place === 'lxc' || place === 'incus';
  const isCluster = place === 'kubectl' || place === 'oc' || isOfSystem;
  const end = isCluster ? given.findIndex(({ template }) => template === '--') : -1;
  const split = splitOptions(end === -1 ? given : given.slice(0, end), `${OTHER_VALUES}${more}`, !isCluster);
  // An option that is not known may take the next word or not.
  const unknown = split.options.filter(
    ({ name, value }) => value === undefined && /^--/.test(name) && !SWITCHES.test(name),
  );
  if (more === '' && !isCluster && unknown.length > 0) {
    const values = unknown.map(({ name }) => ` ${name}`).join('');
    if (asksElsewhere(place, args, values)) return true;
  }
  const command = end === -1 ? split.operands.slice(1) : given.slice(end + 1);
  const isWanted = hasOption(split, '-i', '--interactive', '--stdin') && !hasOption(split, '-d', '--detach');
  // Compose gives a terminal unasked.
  const isOpen = isWanted || ((isCompose || isOfSystem) && !hasOption(split, '-d', '--detach'));
  switch (verb?.template) {
    case 'run':
      return isOpen && asks(quoted([...entrypoint(split), ...command]), isWanted);
    case 'exec':
      return isOpen && asks(quoted(command), false);
    case 'debug':
      return place === 'docker' ? !hasOption(split, '-c', '--command') : isOpen && asks(quoted(command), true);
    case 'start':
      return given.some(({ template }) => /^-a?i|^--interactive$/.test(template));
    case 'attach':
      return isCluster ? isOpen : !hasOption(split, '--no-stdin');
    case 'rsh':
      return asks(quoted(command), true);
    case 'shell':
    case 'console':
      return isOfSystem;
    default:
      return false;
  }
}

/** Returns words as a text for a shell. Those that are known only at run time stand as they were written. */
function quoted(words: readonly ShellWord[]): string {
  return words.map(({ text, source }) => (text === null ? source : `'${text.replaceAll("'", `'\\''`)}'`)).join(' ');
}

/** Returns whether the text of a shell in another place takes commands from its terminal; without one, its own program may. */
function asks(text: string, ifEmpty: boolean): boolean {
  if (text === '') return ifEmpty;
  const reading = readShellCommand(text, { cwd: '/', home: '/', variables: {}, directoryExists: () => false });
  return readsTerminal(reading) !== null;
}

/** Options with which screen starts in the background, or tells another one something. */
const LEAVES_SCREEN = /(?:^| )-(?:\w*d\w*m|\w*m\w*d|ls|list|wipe|X|Q|v|-version|-help)|(?:^| )-d (?:.* )?-m(?: |$)/i;

/** Returns whether a tmux shows its terminal; most of its commands only tell the server something. */
function attachesTmux(words: readonly string[]): boolean {
  const text = words.join(' ').replace(/^(?:-[fLSc] \S+ |-[2CDluv8N]+ )*/, '');
  if (/^new(?:-session|-s|$| )/.test(text)) return !/ -[A-Za-z]*d/.test(text);
  return !/^(?:-V|kill|ls|list|send|has|neww|new-w|start|set|show|capture|display|run)/.test(text);
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
