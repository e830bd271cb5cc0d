import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Checks layers, import cycles (types and `import()` too), folder and file sizes, and the packages that hooks load. */
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** Layers by path prefix, lowest first; the longest prefix wins. Modules of one layer do not import each other. */
const LAYERS: readonly (readonly string[])[] = [
  ['src/text'],
  ['src/engine'],
  ['src/state'],
  ['src/sandbox'],
  ['src/task', 'src/guard', 'src/term', 'src/telemetry'],
  ['src/hosts'],
  ['src/drive'],
  ['src/drive/hook', 'src/drive/runner', 'src/drive/router'],
  ['src/drive/parallel'],
  ['src/install', 'src/web', 'src/fleet'],
  ['src/cli'],
  ['hooks', 'scripts'],
];
const FOLDER_LIMIT = 16;
const FILE_LIMIT = 400;
/** Words of texts and comments that have a plain English term. */
const ODD_WORDS =
  /\b(?:mend(?:s|ed|ing)?|nobody|somebody|anew|heed(?:s|ed|ing)?|is\s+told|whoever|goes\s+on\s+with|lies\s+here)\b/gi;
const ODD_WORDS_LIMIT = 30;
const TEXTS = 'hooks scripts src docs templates skills references rules README.md SKILL.md'.split(' ');
const PARSERS = /node_modules\/(zod|yaml|ajv|proper-lockfile|re2js|jsonc-parser)\//;
/** Packages that no hook may load at once. */
const HEAVY = /node_modules\/(zod|yaml|ajv|proper-lockfile|re2js|jsonc-parser|unbash|picomatch)/;

interface Meta {
  readonly inputs: Record<string, { readonly imports: readonly { readonly path: string; readonly kind: string }[] }>;
}

const files = ['hooks', 'scripts', 'src'].flatMap((folder) =>
  filesOf(join(root, folder), /\.[cm]?ts$/).map((path) => relative(root, path).replaceAll('\\', '/')),
);
const imports = new Map(files.map((file) => [file, importsOf(file)]));
const problems = [
  ...layerProblems(),
  ...siblingProblems(),
  ...cycleProblems(),
  ...buildProblems(),
  ...sizeProblems(),
  ...bundleProblems(),
  ...wordProblems(),
];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exit(1);

/** Source files that a file imports: statically, as a type, or by `import()`. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/(?:\bfrom|\bimport\s*\(|\bimport)\s*'(\.[^']+\.ts)'/g)].map(([, specifier = '']) =>
    join(dirname(file), specifier).replaceAll('\\', '/'),
  );
}

function layerOf(file: string): { readonly module: string; readonly rank: number } | null {
  const found = LAYERS.flatMap((modules, rank) => modules.map((module) => ({ module, rank })))
    .filter(({ module }) => file.startsWith(`${module}/`))
    .sort((a, b) => b.module.length - a.module.length);
  return found[0] ?? null;
}

function layerProblems(): string[] {
  return files.flatMap((file) => {
    const from = layerOf(file);
    if (from === null) return [`${file}: unknown layer; add it to tests/tools/check-tree.ts`];
    const text = readFileSync(join(root, file), 'utf8');
    const found =
      ['src/engine', 'src/text'].includes(from.module) && /from 'node:/.test(text)
        ? [`${file}: ${from.module} is pure and imports no node module`]
        : [];
    if (/\b(?:from|import) ?\(?'unbash/.test(text) && !file.startsWith('src/text/shell/'))
      found.push(`${file}: only src/text/shell imports the shell parser`);
    for (const target of imports.get(file) ?? []) {
      const to = layerOf(target);
      if (to !== null && to.module !== from.module && to.rank >= from.rank) found.push(`${file} imports up: ${target}`);
    }
    return found;
  });
}

/** Finds folders beside each other that import each other both ways. */
function siblingProblems(): string[] {
  const ways = new Set<string>();
  for (const [file, targets] of imports) {
    for (const target of targets) {
      const [from, to] = [file.split('/'), target.split('/')];
      const at = from.findIndex((name, index) => name !== to[index]);
      // Both go on into a folder.
      if (at > 0 && at < from.length - 1 && at < to.length - 1)
        ways.add(`${from.slice(0, at).join('/')}: ${from[at]} > ${to[at]}`);
    }
  }
  return [...ways].flatMap((way) => {
    const [, parent = '', one = '', other = ''] = /^(.+): (.+) > (.+)$/.exec(way) ?? [];
    const isPair = one < other && ways.has(`${parent}: ${other} > ${one}`);
    return isPair ? [`${parent}: ${one} and ${other} import each other; move what both need to a third place`] : [];
  });
}

/** Strongly connected components of the import graph (Tarjan). */
function cycleProblems(): string[] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[] = [];
  const visit = (file: string): number => {
    index.set(file, index.size);
    let lowest = index.size - 1;
    stack.push(file);
    for (const next of imports.get(file) ?? []) {
      if (!imports.has(next)) continue;
      if (!index.has(next)) lowest = Math.min(lowest, visit(next));
      else if (stack.includes(next)) lowest = Math.min(lowest, index.get(next) ?? lowest);
    }
    low.set(file, lowest);
    if (lowest === index.get(file)) {
      const ring = stack.splice(stack.indexOf(file));
      if (ring.length > 1 || imports.get(file)?.includes(file)) found.push(`import cycle: ${ring.sort().join(', ')}`);
    }
    return lowest;
  };
  for (const file of files) if (!index.has(file)) visit(file);
  return found;
}

/** Finds modules that the build loads and that need what it makes: a clone has none of it. Types are not loaded. */
function buildProblems(): string[] {
  const loaded = new Set(['scripts/build.ts']);
  const found: string[] = [];
  for (const file of loaded) {
    const text = readFileSync(join(root, file), 'utf8');
    if (/ from '[./]+\/\.build\//.test(text)) found.push(`${file}: the build loads it, and it needs a built file`);
    for (const [, specifier = ''] of text.matchAll(/^(?:import|export) (?!type\b)[^']*'(\.[^']+\.ts)'/gm))
      loaded.add(join(dirname(file), specifier).replaceAll('\\', '/'));
  }
  return found;
}

function sizeProblems(): string[] {
  const count = new Map<string, number>();
  for (const file of files) count.set(dirname(file), (count.get(dirname(file)) ?? 0) + 1);
  const crowded = [...count].filter(([, size]) => size > FOLDER_LIMIT);
  const long = files.flatMap((file) => {
    const lines = readFileSync(join(root, file), 'utf8').split('\n').length - 1;
    return lines > FILE_LIMIT ? [`${file}: ${lines} lines; at most ${FILE_LIMIT}`] : [];
  });
  return [...crowded.map(([folder, size]) => `${folder}: ${size} files; at most ${FOLDER_LIMIT}`), ...long];
}

/**
 * Finds what a hook of the client must not load: heavy packages at once; parsers later, but for a start by hand; and what
 * loads telemetry unasked, or the fleet.
 */
function bundleProblems(): string[] {
  const { inputs } = JSON.parse(readFileSync(join(root, '.build', 'meta.json'), 'utf8')) as Meta;
  const reach = (entry: string, lazily: boolean): string[] => {
    const found = new Set([entry]);
    // A set visits what is added to it meanwhile.
    for (const file of found) {
      for (const { path, kind } of inputs[file]?.imports ?? []) {
        if (lazily ? path !== 'src/drive/start/start-by-hand.ts' : kind !== 'dynamic-import') found.add(path);
      }
    }
    return [...found];
  };
  const fleet = [...reachAll('scripts/main.ts', inputs, 'src/cli/fleet/run-fleet.ts')].filter(
    (path) => path.startsWith('src/fleet/') || /node_modules\/(?:bullmq|ioredis)\//.test(path),
  );
  const onlyFleet = fleet.map((path) => `${path} is loaded by more than the commands of the fleet`);
  const exported = files
    .filter((file) => !file.startsWith('src/telemetry/'))
    .flatMap((file) =>
      (inputs[file]?.imports ?? [])
        .filter(({ path, kind }) => path.startsWith('src/telemetry/') && kind !== 'dynamic-import')
        .map(({ path }) => `${file} loads ${path} also where no endpoint is set`),
    );
  const hooks = files.filter((file) => file.startsWith('hooks/') && !/(?:pre|post)-execute/.test(file));
  return [
    ...onlyFleet,
    ...exported,
    ...hooks.flatMap((hook) => [
      ...reach(hook, false).flatMap((path) => (HEAVY.test(path) ? [`${hook} loads ${path} at once`] : [])),
      ...reach(hook, true).flatMap((path) => (PARSERS.test(path) ? [`${hook} loads ${path}`] : [])),
    ]),
  ];
}

/** Everything that an entry loads, at once or later, but for one file and what only that loads. */
function reachAll(entry: string, inputs: Meta['inputs'], without: string): ReadonlySet<string> {
  const found = new Set([entry]);
  for (const file of found) {
    for (const { path } of inputs[file]?.imports ?? []) if (path !== without) found.add(path);
  }
  return found;
}

function wordProblems(): string[] {
  const texts = TEXTS.flatMap((name) => filesOf(join(root, name), /\.(?:[cm]?[jt]s|md|sh|bat)$/));
  const count = texts
    .filter((path) => !path.endsWith('check-tree.ts'))
    .reduce((sum, path) => sum + [...readFileSync(path, 'utf8').matchAll(ODD_WORDS)].length, 0);
  console.log(`${count} odd words (at most ${ODD_WORDS_LIMIT})`);
  return count > ODD_WORDS_LIMIT ? [`${count} odd words in texts and comments; at most ${ODD_WORDS_LIMIT}`] : [];
}

function filesOf(path: string, wanted: RegExp): string[] {
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return wanted.test(path) ? [path] : [];
  return readdirSync(path).flatMap((name) => filesOf(join(path, name), wanted));
}
