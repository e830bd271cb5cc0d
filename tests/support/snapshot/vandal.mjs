// Changes files at random: argument 1 is the folder to spoil, 2 a folder of the agent's own work, 3 a seed, 4 how often.
// A guard cannot read from its command line what it writes.
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const [, , target, own, seed, count] = process.argv;
let state = Number(seed) * 2654435761 + 1;
const random = (below) => {
  state = (Math.imul(state ^ (state >>> 15), 2246822519) + 374761393) >>> 0;
  return state % below;
};
const pick = (list) => list[random(list.length)];
const entries = () =>
  readdirSync(target, { recursive: true, withFileTypes: true }).map((entry) => ({
    entry,
    path: join(entry.parentPath ?? entry.path, entry.name),
  }));
const files = () =>
  entries()
    .filter(({ entry }) => entry.isFile() || entry.isSymbolicLink())
    .map(({ path }) => path);
const folders = () => [
  target,
  ...entries()
    .filter(({ entry }) => entry.isDirectory())
    .map(({ path }) => path),
];
let serial = 0;
const fresh = (folder, end = '.ts') => {
  serial += 1;
  return join(folder, `new-${seed}-${serial}${end}`);
};

const acts = [
  ['append', () => appendFileSync(regular(), `\n// ${random(1e6)}`)],
  ['overwrite', () => writeFileSync(regular(), `spoiled ${random(1e6)}`)],
  [
    'same size and time',
    () => {
      const path = regular();
      const { mtime, size } = lstatSync(path);
      writeFileSync(path, 'x'.repeat(size));
      utimesSync(path, mtime, mtime);
    },
  ],
  ['truncate', () => truncateSync(regular(), 0)],
  ['delete', () => unlinkSync(pick(files()))],
  ['rename', () => renameSync(pick(files()), fresh(pick(folders())))],
  ['move away', () => renameSync(pick(files()), fresh(own))],
  ['create', () => writeFileSync(fresh(pick(folders())), 'new')],
  [
    'create deep',
    () => {
      const folder = fresh(pick(folders()), '');
      mkdirSync(join(folder, 'deep'), { recursive: true });
      writeFileSync(join(folder, 'deep', 'a.ts'), 'new');
    },
  ],
  ['chmod', () => chmodSync(regular(), pick([0o600, 0o755, 0o444]))],
  [
    'link swap',
    () => {
      const path = pick(files());
      unlinkSync(path);
      symlinkSync(join(own, 'work.ts'), path);
    },
  ],
  [
    'hard link',
    () => {
      const path = pick(files());
      unlinkSync(path);
      linkSync(join(own, 'work.ts'), path);
    },
  ],
  [
    'folder in place',
    () => {
      const path = pick(files());
      unlinkSync(path);
      mkdirSync(path);
      writeFileSync(join(path, 'in.ts'), 'x');
    },
  ],
  [
    'swap',
    () => {
      const [a, b] = [pick(files()), pick(files())];
      if (a === b) return;
      const between = fresh(own);
      renameSync(a, between);
      renameSync(b, a);
      renameSync(between, b);
    },
  ],
  [
    'folder away',
    () => {
      const folder = pick(folders().slice(1));
      if (folder) renameSync(folder, fresh(own, ''));
    },
  ],
  [
    'folder to link',
    () => {
      const folder = pick(folders().slice(1));
      if (!folder) return;
      const away = fresh(own, '');
      renameSync(folder, away);
      symlinkSync(away, folder);
    },
  ],
  [
    'folder gone',
    () => {
      const folder = pick(folders().slice(1));
      if (folder) rmSync(folder, { recursive: true });
    },
  ],
  ['own work', () => appendFileSync(join(own, 'work.ts'), `${random(1e6)}\n`)],
  ['own file', () => writeFileSync(fresh(own), 'work')],
];

function regular() {
  const all = files().filter((path) => lstatSync(path).isFile());
  return pick(all);
}

const done = {};
for (let nth = 0; nth < Number(count); nth += 1) {
  const [name, act] = pick(acts);
  if (!existsSync(target) || files().length < 3) break;
  try {
    act();
    done[name] = (done[name] ?? 0) + 1;
  } catch (error) {
    if (
      !['ENOENT', 'EEXIST', 'ENOTEMPTY', 'EINVAL', 'ENOTDIR', 'EISDIR', 'EPERM', 'ELOOP'].includes(error.code) &&
      !(error instanceof TypeError)
    )
      throw error;
  }
}
process.stdout.write(JSON.stringify(done));
