import { type ShellWord, UNKNOWN } from '../shell-reading.ts';
import { type Call, fromCwd, type Unwrapped, withVariable } from '../shell-state.ts';
import { byProgram, hasOption, optionValue, optionValues, splitOptions, wordOf } from '../words.ts';
import { unwrapFd, unwrapFind, unwrapXargs } from './unwrap-find.ts';

interface Wrapper {
  readonly values: string;
  /** Number of words before the command (the duration of timeout). */
  readonly skip?: number;
  readonly subcommands?: readonly string[];
  /** Option that takes a text for a shell (su -c). */
  readonly textOption?: string;
  /** True if it only runs a text: its operands are files. */
  readonly textOnly?: true;
  /** Options with which it runs nothing (command -v). */
  readonly asks?: readonly string[];
  /** Option that names a file that it writes itself. */
  readonly output?: string;
  /** True if every word is a text for a shell of its own (concurrently). */
  readonly texts?: true;
  /** True if assignments may precede the command (sudo A=1 x). */
  readonly assigns?: true;
}

/** tmux commands that take a text for a shell; the keys of send-keys count as one. */
const TMUX_COMMANDS =
  'new new-session neww new-window splitw split-window respawnp respawn-pane respawnw respawn-window run run-shell send send-keys popup display-popup'.split(
    ' ',
  );

const SUDO_VALUES = '-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot';

const wrapperOf = byProgram<Wrapper>(() => ({
  __proto__: null as never,
  'sudo doas': { values: SUDO_VALUES, asks: ['-l', '-v', '-k', '-K', '-V'], assigns: true },
  'timeout gtimeout': { values: '-k -s --kill-after --signal', skip: 1 },
  nice: { values: '-n --adjustment' },
  stdbuf: { values: '-i -o -e --input --output --error' },
  'chroot gosu su-exec': { values: '--userspec --groups', skip: 1 },
  'tini dumb-init catatonit': { values: '-p -e -r' },
  'nohup setsid builtin unbuffer chronic unshare catchsegv busybox toybox corepack entr firejail setpriv systemd-inhibit eatmydata dbus-run-session':
    { values: '' },
  'time gtime': { values: '-f -o --format --output', output: '-o' },
  command: { values: '', asks: ['-v', '-V'] },
  compgen: { values: '-A -F -G -P -S -W -X', textOption: '-C' },
  exec: { values: '-a' },
  flock: { values: '-w -E --timeout --wait --conflict-exit-code', skip: 1, textOption: '-c' },
  strace: { values: '-e -o -p -s -u -E', output: '-o' },
  su: { values: '-s -g -w --shell --group', skip: 1, textOption: '-c' },
  script: { values: '-I -O -B -E -T -m -o', textOption: '-c', textOnly: true },
  watch: { values: '-n -s --interval', textOption: ' ' },
  'npx bunx pnpx uvx': { values: '-p --package -w --workspace', textOption: '-c' },
  npm: { values: '-w --workspace --prefix -C', subcommands: ['exec', 'x'], textOption: '-c' },
  pnpm: { values: '-C --dir --filter -F', subcommands: ['exec', 'dlx'] },
  yarn: { values: '--cwd', subcommands: ['exec', 'dlx'] },
  'uv poetry pdm hatch pipenv pipx rye': {
    values: '--with --python -p -C --directory --project -e --env',
    subcommands: ['run'],
  },
  bundle: { values: '', subcommands: ['exec'] },
  'cross-env': { values: '', assigns: true },
  concurrently: {
    values: '-n -c -s -l -p -t -m --names --prefix-colors --success --max-processes --prefix --kill-signal',
    texts: true,
  },
  hyperfine: {
    values: '-w -r -m -M -p -c -s -n -S -L --warmup --runs --min-runs --max-runs --prepare --cleanup --setup --shell',
    texts: true,
  },
  pwsh: { values: '-f -File -ExecutionPolicy', textOption: '-c' },
  powershell: { values: '-File -ExecutionPolicy', textOption: '-Command' },
  cmd: { values: '', skip: 1, textOption: ' ' },
  screen: { values: '-c -e -h -p -s -S -t -T -Logfile' },
  tmux: { values: '-f -L -S -c -e -n -s -t -x -y -F -l', subcommands: TMUX_COMMANDS, textOption: ' ' },
}));

/** Returns what a wrapper runs; undefined if the command is not a wrapper or wraps nothing here. */
export function unwrap(call: Call, name: string): Unwrapped | undefined {
  if (name === 'find' || name === 'gfind') return unwrapFind(call);
  if (name === 'fd' || name === 'fdfind') return unwrapFd(call);
  if (name === 'xargs' || name === 'gxargs') return unwrapXargs(call);
  if (name === 'docker' || name === 'podman') return unwrapContainer(call);
  if (name === 'parallel') return call.stdin.under ? unwrapXargs(call) : asText(...parallelTexts(call));
  // Programs that read commands for a later shell.
  if (name === 'at' || name === 'batch') return call.stdin.kind === 'none' ? undefined : asText(call.stdin.text);
  if (name === 'env' || name === 'genv') return unwrapEnvironment(call);
  const wrapper = wrapperOf(name);
  if (wrapper === undefined) return undefined;
  const values = `${wrapper.values} ${wrapper.textOption ?? ''}`;
  let split = splitOptions(call.words.slice(1), values, true);
  if (wrapper.asks !== undefined && hasOption(split, ...wrapper.asks)) return undefined;
  if (wrapper.subcommands !== undefined) {
    if (!wrapper.subcommands.includes(split.operands[0]?.template ?? '')) return undefined;
    split = splitOptions(split.operands.slice(1), values, true);
  }
  const words = split.operands.slice(wrapper.skip ?? 0);
  if (wrapper.texts === true) return asText(...words.map(({ template }) => template.replace(SCRIPT, "$1 run '$2'")));
  if (wrapper.textOption === ' ') return asText(words.map((word) => word.template).join(' '));
  if (wrapper.textOption !== undefined) {
    const late = splitOptions(words, values, true);
    const text = optionValue(split, wrapper.textOption) ?? optionValue(late, wrapper.textOption, '--command');
    if (text !== undefined) return asText(text.template);
    if (wrapper.textOnly === true) return undefined;
  }
  if (wrapper.assigns === true) return withAssignments(call, words);
  const writes = wrapper.output !== undefined && hasOption(split, wrapper.output, '--output');
  return asCall(call, words, writes);
}

function unwrapEnvironment(call: Call): Unwrapped | undefined {
  const split = splitOptions(call.words.slice(1), '-u -C -S --unset --chdir --split-string', true);
  const directory = optionValue(split, '-C', '--chdir')?.template;
  const text = optionValue(split, '-S', '--split-string')?.template;
  // A single dash is -i.
  const operands = split.operands.slice(split.operands[0]?.template === '-' ? 1 : 0);
  const state = directory === undefined ? call.state : { ...call.state, cwd: fromCwd(directory, call.state) };
  if (text !== undefined) return asText([text, ...operands.map((word) => word.template)].join(' '));
  return withAssignments({ ...call, state }, operands);
}

/** Returns the call of a command after assignments: `env A=1 x`. */
function withAssignments(call: Call, words: readonly ShellWord[]): Unwrapped | undefined {
  const first = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word.template));
  const count = first === -1 ? words.length : first;
  const assigned = words.slice(0, count).map(({ template }) => {
    const equals = template.indexOf('=');
    return { name: template.slice(0, equals), words: [{ template: template.slice(equals + 1) }] };
  });
  const state = assigned.reduce((each, { name, words: values }) => withVariable(each, name, values), call.state);
  return asCall({ ...call, state, assignments: [...call.assignments, ...assigned] }, words.slice(count));
}

function asCall(call: Call, words: readonly ShellWord[], keepsItself = false): Unwrapped | undefined {
  return words.length === 0 ? undefined : { next: [{ kind: 'call', call: { ...call, words } }], keepsItself };
}

/** Pattern for the names of scripts among the texts of concurrently: `npm:lint`, `npm:watch-*`. */
const SCRIPT = /^(npm|pnpm|yarn|bun):([^'\s]+)$/;

function asText(...texts: readonly string[]): Unwrapped | undefined {
  const known = texts.filter((text) => text.trim() !== '' && text.trim() !== UNKNOWN);
  if (known.length === 0) return undefined;
  return { next: known.map((text) => ({ kind: 'text', text })), keepsItself: false };
}

const VALUES = '-j -P -S -a -N -n --jobs --arg-file --joblog --results --colsep';
const MOST = 64;

/** Returns the texts that GNU parallel passes to a shell: its command with each value after `:::` or of its input. */
function parallelTexts(call: Call): string[] {
  const words = splitOptions(call.words.slice(1), VALUES, true).operands.map((word) => word.template);
  const at = words.findIndex((word) => /^:{3,4}\+?$/.test(word));
  const command = (at === -1 ? words : words.slice(0, at)).join(' ');
  const given = at === -1 || /^:{4}/.test(words[at] ?? '') ? linesOf(call) : words.slice(at + 1);
  const values = given.length > MOST ? [UNKNOWN] : given;
  if (command === '') return values;
  return values.map((value) => {
    const word = value.includes(UNKNOWN) ? '"$PARALLEL_VALUE"' : value;
    return command.includes('{}') ? command.replaceAll('{}', word) : `${command} ${word}`;
  });
}

function linesOf({ stdin }: Call): string[] {
  if (stdin.kind === 'none' || stdin.under !== undefined) return [UNKNOWN];
  const lines = stdin.text.split('\n').filter((line) => line !== '');
  return lines.length === 0 ? [UNKNOWN] : lines;
}

const CONTAINER_VALUES =
  '-a -c -e -h -l -m -p -u -v -w --add-host --cap-add --cap-drop --cidfile --cpus --device --dns --entrypoint --env --env-file --gpus --hostname --ip --label --memory --mount --name --net --network --pid --platform --publish --pull --restart --security-opt --shm-size --stop-signal --tmpfs --ulimit --user --userns --volume --volumes-from --workdir --annotation --attach --blkio-weight --blkio-weight-device --cgroup-parent --cgroupns --cpu-count --cpu-percent --cpu-period --cpu-quota --cpu-rt-period --cpu-rt-runtime --cpu-shares --cpuset-cpus --cpuset-mems --detach-keys --device-cgroup-rule --device-read-bps --device-read-iops --device-write-bps --device-write-iops --dns-option --dns-search --domainname --expose --group-add --health-cmd --health-interval --health-retries --health-start-interval --health-start-period --health-timeout --io-maxbandwidth --io-maxiops --ip6 --ipc --isolation --kernel-memory --label-file --link --link-local-ip --log-driver --log-opt --mac-address --memory-reservation --memory-swap --memory-swappiness --net-alias --network-alias --oom-score-adj --pids-limit --runtime --stop-timeout --storage-opt --sysctl --uts --volume-driver --arch --os --variant --pod --pod-id-file --authfile --creds --cert-dir --conmon-pidfile --pidfile --decryption-key --gidmap --group-entry --hostuser --hosts-file --image-volume --init-path --passwd-entry --personality --preserve-fds --requires --retry --retry-delay --sdnotify --seccomp-policy --secret --subgidname --subuidname --systemd --timeout --tz --uidmap --umask --unsetenv';

/** Pattern for mounts: `-v FROM:TO`, `--mount type=bind,src=FROM,dst=TO`. */
const MOUNT =
  /^(?:-v|--volume=)?([./~\0][^:]*):(\/[\w./-]*\w)|\b(?:source|src)=([^,]+),(?:.*,)?(?:target|destination|dst)=(\/[\w./-]*\w)/g;

/** Returns the command of `docker run` with paths of the mounted folders; without a mount, it changes no file here. */
function unwrapContainer(call: Call): Unwrapped | undefined {
  const { operands } = splitOptions(call.words.slice(1), '-c -H -l --config --context --host', true);
  const [verb, ...args] = operands.filter(({ template }) => template !== 'container');
  const split = splitOptions(args, CONTAINER_VALUES, true);
  const mounts = args.flatMap(({ template }) => [...template.matchAll(MOUNT)]);
  // An empty one means that the container has no program.
  const entrypoint = optionValues(split, '--entrypoint')
    .slice(-1)
    .filter(({ template }) => template !== '');
  const words = [...entrypoint, ...split.operands.slice(1)];
  if (!/^(?:run|create)$/.test(verb?.template ?? '') || mounts.length === 0 || words.length === 0) return undefined;
  const here = (text: string): string =>
    mounts.reduce((each, [, from, to, source = '', target]) => {
      const path = new RegExp(`(?<![\\w./-])${to ?? target}(?![\\w.-])`, 'g');
      return each.replace(path, () => fromCwd(from ?? source, call.state));
    }, text);
  const placed = (word: ShellWord): ShellWord =>
    here(word.template) === word.template ? word : wordOf(here(word.template), word.source);
  const given = optionValue(split, '-w', '--workdir')?.template ?? '/';
  // A folder that exists only in the container is not on this machine.
  const state = { ...call.state, cwd: here(given) === given ? '/.container' : here(given) };
  return { next: [{ kind: 'call', call: { ...call, words: words.map(placed), state } }], keepsItself: false };
}
