import type { ShellWord } from '../shell-reading.ts';
import { type Call, fromCwd, type Unwrapped } from '../shell-state.ts';
import { optionValue, optionValues, splitOptions, wordOf } from '../words.ts';

const VALUES =
  '-a -c -e -h -l -m -p -u -v -w --add-host --cap-add --cap-drop --cidfile --cpus --device --dns --entrypoint --env --env-file --gpus --hostname --ip --label --memory --mount --name --net --network --pid --platform --publish --pull --restart --security-opt --shm-size --stop-signal --tmpfs --ulimit --user --userns --volume --volumes-from --workdir';
/** Pattern for mounts: `-v FROM:TO`, `--mount type=bind,src=FROM,dst=TO`. */
const MOUNT =
  /^(?:-v|--volume=)?([./~\0][^:]*):(\/[\w./-]*\w)|\b(?:source|src)=([^,]+),(?:.*,)?(?:target|destination|dst)=(\/[\w./-]*\w)/g;

/** Returns the command of `docker run` with paths of the mounted folders; without any it changes no file here. */
export function unwrapContainer(call: Call): Unwrapped | undefined {
  const { operands } = splitOptions(call.words.slice(1), '-c -H -l --config --context --host', true);
  const [verb, ...args] = operands.filter(({ template }) => template !== 'container');
  const split = splitOptions(args, VALUES, true);
  const mounts = args.flatMap(({ template }) => [...template.matchAll(MOUNT)]);
  const words = [...optionValues(split, '--entrypoint'), ...split.operands.slice(1)];
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
