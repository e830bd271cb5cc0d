import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Holds the tree to its arrows: entries -> drive -> (task, guard, state, claude, term) -> core, and what the entry
 * hooks may carry. Reads the bundler's own list of what went into each file, so that nothing slips in by a detour.
 */
const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** Which rooms a room may import from, beside itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  state: ['core'],
  guard: ['core', 'state'],
  claude: ['core', 'state'],
  task: ['core', 'state'],
  term: ['core', 'state'],
  drive: ['core', 'state', 'guard', 'claude', 'task', 'term'],
  install: ['core', 'state', 'guard', 'claude', 'task', 'term', 'drive'],
};

/** The drivers stand side by side: what two of them need belongs to `src/drive/turn`, which knows none of them. */
const DRIVERS = ['hook', 'runner', 'router'];
const HELD_APART = [...DRIVERS, 'turn'];

/** Entry hooks are loaded at every turn or call: what is heavy must not be in them. */
const LEAN = [
  ...['ralph-stop-hook', 'ralph-stop-quick', 'pre-tool-use', 'ralph-tool-guard', 'post-tool-use', 'ralph-tool-note'],
  ...['user-prompt-submit', 'stop-failure', 'ralph-steering', 'ralph-shell-guard', 'ralph-file-guard'],
];
const HEAVY = /node_modules\/(zod|yaml|ajv|proper-lockfile|picomatch|re2js|jsonc-parser)\//;
/** Loaded where a Stop has something to check or to gather: a definition that is evaluated there costs every one. */
const WORK = 'ralph-stop-work';
const HEAVY_AT_WORK = /node_modules\/(zod|yaml|ajv|proper-lockfile|re2js|jsonc-parser)\//;
const STOP_HOOK_LIMIT = 40 * 1024;
const FILE_LIMIT = 300;

interface Meta {
  readonly outputs: Record<string, { readonly inputs: Record<string, unknown> }>;
}

const problems = [...arrowProblems(), ...leanProblems(), ...sizeProblems()];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exit(1);

function arrowProblems(): string[] {
  const found: string[] = [];
  for (const file of sources(join(root, 'src'))) {
    const room = roomOf(file);
    const allowed = room === null ? undefined : MAY_IMPORT[room];
    if (room === null || allowed === undefined) {
      found.push(`${file}: its room is none of the tree; name it in scripts/check-arrows.ts`);
      continue;
    }
    for (const [, specifier = ''] of readFileSync(join(root, file), 'utf8').matchAll(/(?:from|import\() ?'([^']+)'/g)) {
      if (room === 'core' && specifier.startsWith('node:')) found.push(`${file}: the engine imports ${specifier}`);
      if (!specifier.startsWith('.')) continue;
      const target = roomOf(relative(root, join(root, dirname(file), specifier)));
      if (target !== null && target !== room && !allowed.includes(target))
        found.push(`${file}: ${room} imports ${target}`);
      const [from, to] = [driverOf(file), driverOf(join(dirname(file), specifier))];
      if (from !== null && to !== null && to !== from && DRIVERS.includes(to))
        found.push(`${file}: imports of the driver ${to}`);
    }
  }
  return found;
}

function driverOf(file: string): string | null {
  const [, driver = ''] = /^src\/drive\/(\w+)\//.exec(file) ?? [];
  return HELD_APART.includes(driver) ? driver : null;
}

function leanProblems(): string[] {
  const { hooks } = JSON.parse(readFileSync(join(root, '.build', 'meta.json'), 'utf8')) as { hooks: Meta };
  const found: string[] = [];
  for (const name of [...LEAN, WORK]) {
    const output = hooks.outputs[`.build/dist/hooks/${name}.cjs`];
    if (output === undefined) {
      found.push(`dist/hooks/${name}.cjs was not built`);
      continue;
    }
    for (const input of Object.keys(output.inputs)) {
      if ((name === WORK ? HEAVY_AT_WORK : HEAVY).test(input)) found.push(`dist/hooks/${name}.cjs carries ${input}`);
    }
    // Asked of the file itself: the build goes over it once more after the bundler.
    const { size } = statSync(join(root, 'dist', 'hooks', `${name}.cjs`));
    if (name.startsWith('ralph-stop-') && name !== WORK && size > STOP_HOOK_LIMIT) {
      found.push(`dist/hooks/${name}.cjs has ${size} bytes; at most ${STOP_HOOK_LIMIT}`);
    }
  }
  return found;
}

function sizeProblems(): string[] {
  return ['src', 'hooks', 'scripts'].flatMap((folder) =>
    sources(join(root, folder)).flatMap((file) => {
      const lines = readFileSync(join(root, file), 'utf8').split('\n').length;
      return lines > FILE_LIMIT + 1 ? [`${file}: ${lines} lines; at most ${FILE_LIMIT}`] : [];
    }),
  );
}

function sources(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return sources(path);
    return name.endsWith('.ts') ? [relative(root, path)] : [];
  });
}

function roomOf(file: string): string | null {
  const [top, room] = file.split(/[\\/]/);
  return top === 'src' ? (room ?? null) : null;
}
