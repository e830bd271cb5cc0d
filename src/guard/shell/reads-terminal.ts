import { shellWord } from '../../text/quote.ts';
import { STDIN } from './program-words.ts';
import { type Prompt, promptFor } from './prompting-programs.ts';
import { readShellCommand } from './read-shell-command.ts';
import { type FileAccess, type ShellCommand, type ShellReading, type ShellWord, UNKNOWN } from './shell-reading.ts';
import { CONTAINER_VALUES, entrypoint } from './unwrap/unwrap.ts';
import { hasOption, type Option, splitOptions } from './words.ts';

/** Programs that copy standard input when no operand names a file, and the number of operands before those. */
const COPIES = new Map<string, number>([
  ...'cat tac head tail sort uniq cut rev nl fold expand column base64 xxd gunzip zcat iconv envsubst pv'
    .split(' ')
    .map((name): [string, number] => [name, 0]),
  ...['sed', 'grep', 'awk', 'jq'].map((name): [string, number] => [name, 1]),
  ['tr', 2],
]);

/** Words with which some of these programs read no input. */
const IDLE = new Map<string, RegExp>([
  ['grep', /^-[a-zA-Z]*[rRV]/],
  // In place it needs a file; git names one to its editor.
  ['sed', /^-[nErsuz]*i|^--in-place/],
  ['awk', /^-V|^\s*BEGIN\b/],
  ['jq', /^-[a-zA-Z]*[nVh]|^--null-input$/],
  ['xxd', /^-v/],
]);

/** A filter of jq that reads its input in spite of -n. */
const JQ_INPUT = /(?<![$."\w-])inputs?\b(?!["\s]*:)/;

/** Every descriptor of the terminal can be read, that of standard output as well. */
const TERMINAL = /^\/dev\/(?:tty|stdin|stdout|stderr|console|pts\/.*)$|^\/(?:dev|proc\/[^/]+)\/fd\/[012]$/;

/**
 * Returns the first program of a command that takes commands, or the content of a file, from the terminal; null if there is none.
 * Its client types into a running command without asking a hook.
 */
export function readsTerminal(reading: ShellReading, depth = 0): string | null {
  const fed = [...reading.commands, ...reading.opened].find((command) => takesInput(command, reading, depth));
  if (fed !== undefined) return fed.name === '' ? (fed.argv[0]?.source ?? '') : fed.name;
  // Standard input that a pipe or a file gives another command gives this one nothing.
  const isOpen = ({ by, word }: FileAccess): boolean =>
    reading.commands.some(
      ({ name, argv, stdinFrom }) =>
        name === by && stdinFrom === 'none' && argv.some(({ template }) => template === word.template),
    );
  const read = reading.reads.find(
    (each) => isTerminal(each.word.text ?? '', reading) && (!STDIN.test(each.word.text ?? '') || isOpen(each)),
  );
  return read === undefined ? null : read.by || 'this redirection';
}

function isTerminal(path: string, reading: ShellReading): boolean {
  return TERMINAL.test(path) || isCopy(path, reading);
}

/** Returns whether a path is that of a descriptor which may be a copy of the terminal's: the command opens no file as it. */
function isCopy(path: string, { descriptors }: ShellReading): boolean {
  const descriptor = /^\/(?:dev|proc\/[^/]+)\/fd\/(\w+)$/.exec(path)?.[1] ?? '0';
  return !['0', '1', '2', ...descriptors].includes(descriptor);
}

/** Returns a word with the name of a variable for its value, as descriptors have it: `/dev/fd/$a`. */
function namedIn({ template, source }: ShellWord): string {
  return template.includes(UNKNOWN) ? source.replace(/[${}"]/g, '') : template;
}

function copiesInput({ name, argv }: ShellCommand): boolean {
  const words = argv.slice(1).map(({ template }) => template);
  if (name === 'tee' || name === 'sponge') return true;
  if (name === 'dd') return !words.some((word) => word.startsWith('if='));
  const before = COPIES.get(name);
  const isIdle = words.some((word) => /^--(?:version|help)$/.test(word) || IDLE.get(name)?.test(word) === true);
  if (before === undefined || (isIdle && !(name === 'jq' && words.some((word) => JQ_INPUT.test(word))))) return false;
  const operands = words.filter((word, at) =>
    word.startsWith('-') ? word === '-' : !(/^\d+$/.test(word) && words[at - 1]?.startsWith('-')),
  );
  const isGiven = words.some((word) => /^--(?:expression|regexp|(?:from-)?file)=/.test(word));
  return operands.slice(isGiven ? 0 : before).every((word) => word === '-');
}

function takesInput(command: ShellCommand, reading: ShellReading, depth: number): boolean {
  const { name, argv, stdinFrom } = command;
  const args = argv.slice(1);
  const words = args.map(({ template }) => template);
  if (name === 'git') return asksEditor(command, words);
  if (name === 'tmux') return attachesTmux(words);
  if (name === 'screen') return !LEAVES_SCREEN.test(words.join(' '));
  const prompt = promptFor(argv[0]);
  if (prompt !== undefined && args.some((word) => isCopy(namedIn(word), reading))) return true;
  if (stdinFrom !== 'none' && prompt?.keys !== true) return false;
  if (prompt !== undefined) return prompts(args, prompt, depth);
  if (name === 'read' || name === 'mapfile' || name === 'readarray') {
    const from = splitOptions(args, '-u -p -d -n -N -t -i -O -s -c -C').options.find((each) => each.name === '-u');
    return from === undefined || (from.value !== undefined && isTerminal(`/dev/fd/${namedIn(from.value)}`, reading));
  }
  if (name === 'xargs' || name === 'parallel') return !words.some((word) => /^-a|^--arg-file|^:::/.test(word));
  if (name === 'source' || name === '.') return args.some((word) => isTerminal(namedIn(word), reading));
  if (PLACES.test(name)) return asksElsewhere(name, args, depth);
  // `rbenv exec irb`, `crictl exec -i ID sh`
  const started = words.includes('exec') ? args.slice(words.indexOf('exec') + 1) : [];
  const at = started.findIndex((word) => promptFor(word) !== undefined);
  if (at !== -1) return promptsIn(started.slice(at), depth);
  // What it copies may be run, or stand in a file: `cat | bash`, `cat > f`.
  return copiesInput(command);
}

/** Returns whether a program takes commands from its terminal when it is called with these words. */
function prompts(args: readonly ShellWord[], prompt: Prompt, depth: number): boolean {
  const { values = '', given = '', asks = '', places = 0, verbs } = prompt;
  const isNamed = (names: string, { name }: Pick<Option, 'name'>): boolean => ` ${names} `.includes(` ${name} `);
  const gives = (option: Option): boolean => isNamed(given, option) && !namesInput(option);
  const first = args.findIndex(({ template }) => !template.startsWith('-'));
  const end = args.findIndex(
    ({ template }, at) => verbs !== undefined && at > first && isNamed(`-- ${given}`, { name: template }),
  );
  const own = (end === -1 ? args : args.slice(0, end))
    .filter(({ template }) => prompt.skips?.test(template) !== true)
    .map((word) => asOption(word, prompt));
  const { options, operands } = splitOptions(own, values, prompt.places === undefined && verbs === undefined);
  if (options.some((option) => isNamed(asks, option))) return true;
  if (options.some((option) => gives(option) || isNamed('--help --version', option))) return false;
  if (verbs !== undefined) {
    const program = splitOptions(end === -1 ? [] : args.slice(end + 1), SSH_VALUES, true).operands;
    const call = operands.map(({ template }) => template).join(' ');
    return verbs.test(call) && promptsInText(quoted(program), true, depth);
  }
  const [script, ...rest] = operands.slice(places);
  if (script === undefined || script.template === '-' || TERMINAL.test(script.template)) return true;
  return places === 0 && (DEBUGGERS.test(script.template) || promptsIn([script, ...rest], depth));
}

/** Modules and first operands that are a prompt or a debugger. */
const DEBUGGERS = /^(?:i?pdb|pudb|code|asyncio|IPython|[bp]tpython|bpython|inspect|debug)$/;

/** The same for a program that another one is given: `php artisan tinker`, `unshare bash`. */
function promptsIn([program, ...args]: readonly ShellWord[], depth: number): boolean {
  const prompt = promptFor(program);
  return prompt !== undefined && (depth >= MOST_NESTED || prompts(args, prompt, depth + 1));
}

/** Number of programs within others above which one counts as prompting: to look into more would take for ever. */
const MOST_NESTED = 20;

/** Returns `-batch` as `--batch` where one dash begins a whole word, `-mpdb` as its module, and `+o` of a shell as `-o`. */
function asOption(word: ShellWord, { words, module }: Prompt): ShellWord {
  const template = module === undefined ? word.template : word.template.replace(module, '');
  if (words === true && /^-[a-zA-Z]{2,}(?:=|$)/.test(template))
    return { ...word, template: `-${template.toLowerCase()}` };
  return { ...word, template: /^\+[oO]$/.test(template) ? '-o' : template };
}

/** Returns whether an option names standard input as the file to be run: `psql -f -`. */
function namesInput({ name, value }: Option): boolean {
  return /^--?f(?:ile)?$/.test(name) && value !== undefined && (value.template === '-' || STDIN.test(value.template));
}

/** Programs that start another one in another place. */
const PLACES = /^(?:docker|docker-compose|podman|podman-compose|nerdctl|kubectl|oc|lxc|incus|ssh)$/;
const SSH_VALUES = '-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -P -p -R -S -W -w';
const OTHER_VALUES = `${CONTAINER_VALUES} -n -f --container --namespace --image --index --label --target --overrides --context --kubeconfig`;
/** Options of containers without a value. */
const SWITCHES =
  /^--(?:detach|init|interactive|stdin|tty|privileged|publish-all|read-only|read-only-tmpfs|rm|rmi|replace|quiet|quiet-pull|sig-proxy|oom-kill-disable|disable-content-trust|use-api-socket|env-host|http-proxy|rootfs|passwd|latest|service-ports|use-aliases|build|remove-orphans|no-.*)$/;

const VERBS = /^(?:run|exec|start|attach)$/;

/** Returns whether a program in another place gets the terminal and takes commands from it: `docker exec -i web sh`. */
function asksElsewhere(place: string, args: readonly ShellWord[], depth: number): boolean {
  if (place === 'ssh') {
    const split = splitOptions(args, SSH_VALUES, true);
    // Options may stand behind the host as well.
    const behind = splitOptions(split.operands.slice(1), SSH_VALUES, true);
    const isMute = [split, behind].some((each) => hasOption(each, '-G', '-N', '-T', '-Q', '-f', '-O', '-W', '-V'));
    const text = behind.operands.map((word) => word.text ?? word.source).join(' ');
    return !isMute && promptsInText(text, true, depth);
  }
  const isOfSystem = place === 'lxc' || place === 'incus';
  const isCluster = place === 'kubectl' || place === 'oc' || isOfSystem;
  if (place === 'docker' && args[0]?.template === 'debug')
    return !args.some(({ template }) => /^(?:-c|--command)/.test(template));
  const verbs = isOfSystem ? /^(?:exec|shell|console)$/ : isCluster ? /^(?:run|exec|debug|attach|rsh)$/ : VERBS;
  const at = args.findIndex(({ template }) => verbs.test(template));
  const isCompose = args.slice(0, at).some(({ template }) => template === 'compose') || place.endsWith('-compose');
  const verb = args[at]?.template;
  const given = args.slice(at + 1);
  const end = isCluster ? given.findIndex(({ template }) => template === '--') : -1;
  const isOpenWith = (values: string, deep: number): boolean => {
    const split = splitOptions(end === -1 ? given : given.slice(0, end), values, !isCluster);
    // An option that is not known may take the next word or not.
    const unknown = split.options.filter(({ name, value }) => !value && /^--/.test(name) && !SWITCHES.test(name));
    const more = unknown.map(({ name }) => ` ${name}`).join('');
    if (more !== '' && !isCluster && (deep >= MOST_NESTED || isOpenWith(`${values}${more}`, deep + 1))) return true;
    if (verb === 'start') return given.some(({ template }) => /^-a?i|^--interactive$/.test(template));
    const isWanted = hasOption(split, '-i', '--interactive', '--stdin') && !hasOption(split, '-d', '--detach');
    if (verb === 'attach') return isCluster ? isWanted : !hasOption(split, '--no-stdin');
    // Compose gives a terminal unasked.
    const isOpen = isWanted || verb === 'rsh' || ((isCompose || isOfSystem) && !hasOption(split, '-d', '--detach'));
    const command = end === -1 ? split.operands.slice(1) : given.slice(end + 1);
    const whole = verb === 'run' ? [...entrypoint(split), ...command] : command;
    return isOpen && promptsInText(quoted(whole), verb === 'run' ? isWanted : verb !== 'exec', deep);
  };
  return at !== -1 && isOpenWith(OTHER_VALUES, depth);
}

/** Returns words as a text for a shell. Those that are known only at run time stand as they were written. */
function quoted(words: readonly ShellWord[]): string {
  return words.map(({ text, source }) => (text === null ? source : shellWord(text))).join(' ');
}

/** Returns whether the text of a shell in another place takes commands from its terminal; without one, its own program may. */
function promptsInText(text: string, ifEmpty: boolean, depth: number): boolean {
  if (text === '') return ifEmpty;
  if (depth >= MOST_NESTED) return true;
  const reading = readShellCommand(text, { cwd: '/', home: '/', variables: {}, directoryExists: () => false });
  return readsTerminal(reading, depth + 1) !== null;
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
