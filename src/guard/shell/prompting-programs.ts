import { basenameOf } from './program-words.ts';
import { type ShellWord, UNKNOWN } from './shell-reading.ts';
import { SUDO_VALUES } from './unwrap/unwrap.ts';
import { byProgram } from './words.ts';

/** A program that takes commands from its standard input unless its words give it a program. */
export interface Prompt {
  /** Options whose value is the next word, which is then no program. */
  readonly values?: string;
  /** Options that give the program, or with which it reads nothing. */
  readonly given?: string;
  /** Options with which it prompts in spite of a program. */
  readonly asks?: string;
  /** Number of operands before one that is a program; default 0, and options end at the program. */
  readonly places?: number;
  /** Operands with which it prompts; it does not with others, and a program after `--` or a given option may prompt. */
  readonly verbs?: RegExp;
  /** One dash begins a whole word, as in `-batch`; case does not count. */
  readonly words?: true;
  /** What stands before the name of a module in the same word: `-mpdb`. */
  readonly module?: RegExp;
  /** Words that say nothing here, and whose letters are no options: `-M:dev`. */
  readonly skips?: RegExp;
  /** Keys run commands. They come from the terminal, wherever the standard input comes from. */
  readonly keys?: true;
}

const ANY = Number.POSITIVE_INFINITY;

const promptOf = byProgram<Prompt>(() => ({
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
  'python pypy ipython': {
    values:
      '-c -W -X --check-hash-based-pycs --profile --profile-dir --ipython-dir --config --colors --ext --logfile --gui --matplotlib --pylab',
    given: '-c -V -h',
    asks: '-i',
    module: /^-[bBdEIOPqRsSuvx]*m(?=\w)/,
  },
  'node nodejs tsx ts-node': {
    values:
      '-r -C -e -p -P -O --eval --print --require --import --loader --experimental-loader --conditions --env-file --env-file-if-exists --title --input-type --inspect-port --icu-data-dir --openssl-config --redirect-warnings --diagnostic-dir --report-dir --report-filename --unhandled-rejections --disable-warning --watch-path --tsconfig --project --compiler-options --localstorage-file --trace-event-categories --max-http-header-size --dns-result-order',
    given: '-e -p -c -v -h --eval --print --check --run --test --prof-process --v8-options --build-snapshot',
    asks: '-i --interactive',
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
      '-h -p -U -d -v -o -F -P -R -T -L -c -f --host --port --username --dbname --command --file --set --variable',
    given: '-c -f -l -V --command --file --list',
    places: ANY,
  },
  'mysql mariadb mycli': {
    values: '-h -u -p -P -D -S -e --host --user --port --database --socket --execute',
    given: '-e -V --execute',
    places: ANY,
  },
  'mongosh mongo sqlite duckdb': {
    values:
      '-u -p -c -s -f --host --port --username --password --authenticationDatabase --cmd --init --separator --newline --nullvalue --maxsize',
    given: '-c -s -f --eval --file',
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
  'sudo doas': { values: SUDO_VALUES, given: '-l -v -k -K -V', asks: '-e --edit' },
  'su runuser': { values: '-s -g -w -c -u --shell --group --user', given: '-c -u --command', places: ANY },
  'unshare nsenter firejail fakeroot rlwrap winpty proot': { values: '-t -S -G --target --setuid --setgid' },
  chroot: { values: '--userspec --groups', places: 1 },
  'deno swift sbt': { verbs: /^(?:repl.*|console.*|shell)?$/ },
  'nix-shell': { values: '-p -A -I --packages --attr', given: '--run --command', places: ANY },
  'nix guix devbox hatch pipenv poetry rebar toolbox distrobox multipass vagrant pixi minikube colima cabal stack lein mill bundle spago bun dotnet manage.py django django-admin rails artisan flask wp drush':
    {
      values:
        '-p -e -C --profile --env --environment --project --python --extra-experimental-features --container --app',
      verbs:
        /^(?:as \S+ |(?!(?:a|add|install|remove|update|run|exec|build|show|search|new|init|up|start|status|list|delete|rm|stop|profile|config|lock|info|global|task|env|test|generate|g) )\S+ )?(?:(?:shell|develop|repl|ghci|enter|ssh|c|console|dbconsole)(?: |$)|(?:fsi|shell_plus|dbshell|tinker|db|db cli|php:cli|sql:cli)$)/,
      given: '-c --command --run --execute',
    },
  'limactl machinectl': {
    values: '--workdir',
    verbs: /^(?:shell|login)(?: \S+)?(?: (?:\S*\/)?(?:ba|z|da|fi)?sh)?$/,
    given: '-c',
  },
  'fly flyctl gcloud': {
    values:
      '-a -c -o -r -A -s --app --config --org --region --address --project --zone --account --configuration --cluster',
    verbs:
      /^(?:ssh console|(?:ssh )?sftp shell|console|(?:postgres|pg|mysql|redis) connect|(?:alpha |beta )?(?:(?:compute(?: tpus tpu-vm)?|cloud-shell|app instances|workstations) ssh|interactive))(?: |$)/,
    given: '-C --command',
  },
  'vi vim view nvim vimdiff ex rvim vim.basic vim.tiny emacs nano pico micro hx helix joe kak less more most visudo vipw vigr sudoedit editor sensible-editor mc mcedit ranger nnn lf vifm tig lazygit gitui zellij byobu':
    { given: '--es --nes --batch --script --daemon', places: ANY, words: true, keys: true },
  script: { values: '-c -I -O -B -E -m -T', given: '-c --command', places: ANY, keys: true },
  crontab: { values: '-u', given: '-l -r', asks: '-e' },
}));

/** The name of a program may end in a version: `python3.12`, `psql-16`. */
const VERSION = /-?\d[\d.]*(?:t|-dbg)?$/;

/** Variables that name a program. */
const VARIABLES: ReadonlyArray<readonly [RegExp, string]> = [
  [/^"?\$\{?(?:SHELL|BASH|0)\b/, 'bash'],
  [/^"?\$\{?(?:EDITOR|VISUAL|GIT_EDITOR)\b/, 'vi'],
  [/^"?\$\{?PYTHON3?\b/, 'python'],
  [/^"?\$\{?NODE\b/, 'node'],
];

/** Returns what a program is whose name or variable a word has; undefined for one that is not in the table. */
export function promptFor(word: ShellWord | undefined): Prompt | undefined {
  const { template = '', source = '' } = word ?? {};
  const meant = VARIABLES.find(([variable]) => template.includes(UNKNOWN) && variable.test(source))?.[1];
  const name = meant ?? basenameOf(template);
  return promptOf(name) ?? promptOf(name.replace(VERSION, ''));
}
