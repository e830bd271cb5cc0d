interface Interpreter {
  readonly names: RegExp;
  /** Options and subcommands with which it only reads its files, to check their syntax or run them as tests. */
  readonly reads?: RegExp;
  /** Options before inline code. */
  readonly code: RegExp;
  /** Option before a module, possibly attached to it; a module is a program like any other. */
  readonly module?: RegExp;
  /** Options before a value that is not the script. */
  readonly values: RegExp;
}

const INTERPRETERS: readonly Interpreter[] = [
  {
    names: /^(?:ba|z|da|k|mk|a|fi|c|tc)?sh$/,
    reads: /^-[abd-z]*n[abd-z]*$|^noexec$|^--no-?exec(?:ute)?$/,
    code: /^-[a-z]*c$/,
    values: /^[-+]O$|^--(?:rcfile|init-file)$/,
  },
  {
    names: /^(?:node|nodejs|tsx|ts-node|jiti|vite-node)$/,
    reads: /^(?:-c|--check|--test)$/,
    code: /^(?:-e|-p|-pe|--eval|--print)$/,
    values: /^(?:-[rCPO]|--(?:require|import|loader|experimental-loader|conditions|project|tsconfig))$/,
  },
  {
    names: /^deno$/,
    reads: /^(?:check|lint|fmt|test|bench|doc|info|cache|compile|bundle|types|coverage)$/,
    code: /^eval$/,
    values: /^(?:-[cr]|--(?:config|import-map|lock|cert|env-file))$/,
  },
  {
    names: /^bun$/,
    reads: /^(?:test|build)$/,
    code: /^(?:-[ep]|--eval|--print)$/,
    values: /^(?:-[rc]|--(?:preload|config))$/,
  },
  { names: /^(?:python|pypy)[\d.]*$/, code: /^-[A-Za-z]*c$/, module: /^-[bBdEhiIOqsSuvVx]*m/, values: /^-[WXQ]$/ },
  { names: /^ruby[\d.]*$/, reads: /^-[a-z]*c[a-z]*$/, code: /^-e$/, values: /^-[rICE]$/ },
  { names: /^perl[\d.]*$/, reads: /^-[a-zW]*c[a-zW]*$/, code: /^-[a-z]*[eE]$/, values: /^-I$/ },
  { names: /^php[\d.]*$/, reads: /^(?:-[a-z]*l|--syntax-check)$/, code: /^-[rBRFE]$/, values: /^-[cdtSz]$/ },
  {
    names: /^(?:Rscript|lua[\d.]*|luajit|julia|elixir|groovy|source|\.)$/,
    code: /^(?:-e|--eval)$/,
    values: /^-[lLrJS]$/,
  },
  {
    names: /^coverage$/,
    reads: /^(?:report|html|xml|json|lcov|annotate|combine|erase)$/,
    code: /^$/,
    module: /^-m/,
    values: /^--(?:rcfile|source|omit|include|data-file)$/,
  },
];

/** Words before a script with an extension: `uv run --frozen check.py`. */
const RUNS_NEXT =
  /(?:^|[ /])(?:(?:uv|go|mix|k6|dart|pdm|poetry) run|zx|java|swift|tclsh|expect|nu|guile|pwsh|powershell)(?: -\S+)*$/;

/** Python modules that run the script after their options. */
const SCRIPT_MODULE: Interpreter = {
  names: /^(?:cProfile|profile|pdb|trace)$/,
  code: /^$/,
  module: /^-m/,
  values: /^-[osc]$/,
};

/** Test runners, linters and bundlers, which only read their operands; `-c`, `-p` and `-r` name their configuration. */
const EXAMINES = new Set(
  `pytest py.test unittest doctest nose2 jest vitest mocha ava tap tape playwright cypress jasmine karma phpunit pest paratest
  rspec bats shellspec busted ctest tsc vue-tsc tsd eslint eslint_d tslint standard xo oxlint stylelint markdownlint
  markdownlint-cli2 shellcheck hadolint yamllint actionlint ruff flake8 pylint pycodestyle pydocstyle pyflakes mypy pyright
  basedpyright pytype bandit vulture rubocop standardrb reek brakeman perlcritic phpstan psalm php-cs-fixer luacheck
  golangci-lint staticcheck swiftlint ktlint detekt semgrep cspell codespell typos vale svelte-check esbuild rollup webpack
  swc`.split(/\s+/),
);

/** The same, with other short options: `gcc -c` compiles, `prettier -c` and `isort -c` check. */
const READS = new Set(
  `py_compile compileall tabnanny json.tool gcc g++ cc c++ clang clang++ clang-tidy clang-format cppcheck cpplint rustc rustfmt
  javac kotlinc scalac swiftc gofmt goimports gofumpt luac stylua prettier biome black isort autopep8 yapf shfmt checkbashisms
  phpcs phpcbf phpmd prove xmllint jsonlint ajv tidy`.split(/\s+/),
);

/** Options and subcommands with which a program only reads its input, even the files named by `-c` and `-f`. */
const READS_WITH: Readonly<Record<string, RegExp>> = {
  __proto__: null as never,
  make: /^-[a-zB]*[nq][a-zB]*$|^--(?:just-print|dry-run|recon|question)$/,
  just: /^(?:-n|--dry-run|--list|--fmt)$/,
  nginx: /^-[a-z]*[tT]$/,
  haproxy: /^-[a-z]*c$/,
  sshd: /^-[a-z]*[tT]$/,
  visudo: /^-[a-z]*c$|^--check$/,
  caddy: /^(?:validate|fmt|adapt)$/,
  'ansible-playbook': /^--syntax-check$/,
  kubectl: /^--dry-run(?:=|$)/,
};

/** Commands whose operands are data, which the agent may change. */
const DATA = new Set(
  `[ test cat grep egrep fgrep rg ag head tail wc cmp diff ls stat file find sort uniq cut tr echo printf git cp mv rm mkdir
  touch chmod tee ln cd sha256sum md5sum true false :`.split(/\s+/),
);

/** Options whose value is a file that the program runs or that configures it. */
const IN_FULL =
  'config|configuration|conf|rcfile|require|import|loader|experimental-loader|project|settings|setup|env-file|exec|reporters?|plugin|setupFiles|globalSetup|environment|runner|rulesdir|resolver|transform|preset|ignore-path';
const NAMES_FILE = new RegExp(`^(?:-[crpfI]|--(?:${IN_FULL}|file|makefile|justfile|init-script))$`);
/** The same for a program whose short options mean something else, and for an interpreter that only reads. */
const NAMES_IN_FULL = new RegExp(`^--(?:${IN_FULL})$`);
const NAMES_BESIDE_CHECK = new RegExp(`^(?:-[rI]|--(?:${IN_FULL}))$`);
/** Names of options with configuration or code after a `=`. */
const CONFIGURES =
  /conf|rc$|require|import|load|plugin|preset|set-?up|reporter|resolve|runner|environment|transform|project|settings|rules|ignore-path/i;
const WRITES =
  /^--?(?:o|out|output|outfile|outdir|junitxml|outputFile[\w.]*|tsBuildInfoFile|log-junit|coverage-\w+|[\w-]*(?:output|out|junit|log|cache|report|result)s?[-_]?(?:file|path|dir|location|to|xml|log))$/i;

export function isData(words: readonly string[]): boolean {
  return DATA.has(words[0] ?? '');
}

/** Returns whether the options make the command only read its input: a dry run, or a check of a configuration. */
export function isDryRun(words: readonly string[]): boolean {
  return words.some((word, at) => {
    const reads = READS_WITH[word.replace(/^(?:.*\/)?g?(?=make$)|^.*\//, '')];
    return reads !== undefined && words.slice(at + 1).some((option) => reads.test(option));
  });
}

/**
 * Returns the files that a command runs or that configure it, and what it `passes` to an unknown program, which may run them.
 * `isThere` says whether a word names an existing file.
 */
export function fileRoles(words: readonly string[], isThere: (word: string) => boolean) {
  const [runs, passes]: [string[], string[]] = [[], []];
  if (isData(words) || isDryRun(words)) return { runs, passes };
  let readsFrom = Number.POSITIVE_INFINITY;
  let named = NAMES_FILE;
  // Words between an interpreter and its script are options of the interpreter.
  let next = 0;
  let module = -1;
  for (const [at, word] of words.entries()) {
    const option = words[at - 1] ?? '';
    if (at > 0) {
      const isNext = /\.\w+$/.test(word) && RUNS_NEXT.test(words.slice(0, at).join(' '));
      if (isNext || named.test(option)) runs.push(word);
      else if (at <= readsFrom && !WRITES.test(option)) passes.push(word);
      runs.push(...valuesOf(word, at > readsFrom));
    }
    if (readsFrom !== Number.POSITIVE_INFINITY || at < next || (at > 0 && word === '.')) continue;
    const isModule = at === module;
    const name = (isModule ? word.replace(/^-\w*?m(?=\w)/, '') : word).replace(/^.*\/|\.(?:[cm]?js|py|phar)$/gs, '');
    const interpreter =
      isModule && SCRIPT_MODULE.names.test(name) ? SCRIPT_MODULE : INTERPRETERS.find(({ names }) => names.test(name));
    if (EXAMINES.has(name) || READS.has(name)) {
      readsFrom = at;
      named = EXAMINES.has(name) ? NAMES_FILE : NAMES_IN_FULL;
    } else if (interpreter !== undefined) {
      const operand = operandOf(interpreter, words, at + 1, isThere);
      next = operand.at;
      if (operand.kind === 'script') runs.push(words[operand.at] ?? '');
      else if (operand.kind === 'module') module = operand.at;
      else if (operand.kind === 'read') {
        readsFrom = operand.at;
        named = NAMES_BESIDE_CHECK;
      }
    }
  }
  return { runs, passes };
}

interface Operand {
  readonly kind: 'script' | 'module' | 'read' | 'code';
  readonly at: number;
}

/** Returns what an interpreter does, and the index of the word that says so: its script, a module, an option. */
function operandOf(
  { reads, code, module, values }: Interpreter,
  words: readonly string[],
  from: number,
  isThere: (word: string) => boolean,
): Operand {
  for (let at = from; at < words.length; at++) {
    const word = words[at] ?? '';
    if (reads?.test(word)) return { kind: 'read', at };
    if (code.test(word)) return { kind: 'code', at: words.length };
    if (module?.test(word)) return { kind: 'module', at: word.replace(module, '') === '' ? at + 1 : at };
    if (values.test(word)) at += 1;
    else if (!/^[-+]/.test(word) && word !== 'run') {
      // The word follows an unknown option.
      const mayBeValue = at > from && words[at - 1]?.startsWith('-');
      const script = words.findIndex((other, index) => index >= at && !other.startsWith('-') && isThere(other));
      return { kind: 'script', at: mayBeValue && script !== -1 ? script : at };
    }
  }
  return { kind: 'code', at: words.length };
}

/** Returns paths after `=`: `--config=a.js` and `--require=x=a.js` name `a.js`. */
function valuesOf(word: string, isRead: boolean): string[] {
  const [option = '', first, ...more] = word.split('=');
  if (first === undefined || WRITES.test(option) || (isRead && !CONFIGURES.test(option))) return [];
  const whole = [first, ...more].join('=');
  return more.length === 0 ? [whole] : [whole, more.at(-1) ?? ''];
}
