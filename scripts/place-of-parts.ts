import { basename } from 'node:path';
import type { Metafile } from 'esbuild';
import { HOOK_FILES } from '../src/install/settings/registration.ts';
import { PROGRAM_FILES } from '../src/state/files/code-cache.ts';

export const CLIENT_HOOKS = HOOK_FILES.map((file) => basename(file, '.cjs'));
/** Checks of a host that runs the skill, which calls them with or without a loop. */
export const HOST_HOOKS = ['pre-execute', 'post-execute'];
export const SCRIPTS = ['main', 'statusline'];
/** What records a call, and the user's rules for files and a task's scope, which are small and needed at every edit. */
const RULES = ['src/drive/hook/observe.ts', 'src/guard/files/evaluate-files.ts', 'src/guard/scope/evaluate-scope.ts'];
const SHELL = 'src/guard/evaluate-shell-command.ts';
/** Module for a start by hand, the only use of zod and yaml in a hook. */
const START = 'src/drive/start/start-by-hand.ts';
/** Commands with the page and the server, which nothing else loads. */
const WEB = ['src/cli/web/serve.ts', 'src/cli/web/write-report.ts'];
/** Every command of the fleet. */
const FLEET = ['src/cli/fleet/run-fleet.ts'];

/** File that holds a part, and whether the part is in its beginning, which is all that most tool hooks read. */
export type Place = readonly [file: (typeof PROGRAM_FILES)[number], isFirst: boolean];

/** Returns the place of a part: what hooks load at once (tool hooks' first), what they may load later, everything else. */
export function placeOfParts({ outputs }: Metafile): (part: string) => Place {
  const all = Object.entries(outputs);
  const path = (name: string): string => `.build/parts/${name}.js`;
  const reach = (from: readonly string[], lazily: boolean, without: readonly string[] = []): ReadonlySet<string> => {
    const found = new Set(from);
    // A set also visits elements that are added meanwhile.
    for (const part of found) {
      for (const { path, kind, external } of outputs[part]?.imports ?? []) {
        if (!external && !without.includes(path) && (lazily || kind === 'import-statement')) found.add(path);
      }
    }
    return found;
  };
  const partOf = (source: string): string => {
    const [part] = all.find(([, { entryPoint }]) => entryPoint === source) ?? [];
    if (part === undefined) throw new Error(`nothing loads ${source} by import() any more`);
    return part;
  };
  const hooks = [...CLIENT_HOOKS, 'statusline'].map(path);
  const [first, second, third, fourth, fifth] = PROGRAM_FILES;
  const atOnce = reach([...hooks, ...RULES.map(partOf)], false);
  const tools = reach([...hooks.filter((each) => each.includes('-tool-use')), ...RULES.map(partOf)], false);
  const shell = reach([partOf(SHELL)], false);
  const later = reach(hooks, true, [partOf(START)]);
  const commands = [...hooks, ...SCRIPTS.map(path), ...HOST_HOOKS.map(path)];
  const others = reach(commands, true, [...WEB, ...FLEET].map(partOf));
  const web = reach(commands, true, FLEET.map(partOf));
  return (name) => {
    const part = `.build/parts/${name}`;
    if (atOnce.has(part)) return [first, tools.has(part)];
    if (later.has(part)) return [second, shell.has(part)];
    return [others.has(part) ? third : web.has(part) ? fourth : fifth, false];
  };
}
