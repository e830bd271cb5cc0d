// Changes files at random: argument 1 is the folder to spoil, 2 a folder of the agent's own work, 3 a seed, 4 how often.
// A guard cannot read from its command line what it writes.
import { spawnSync } from 'node:child_process';
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
import { basename, dirname, join } from 'node:path';

const [, , target, own, seed, count] = process.argv;
let state = Number(seed) * 2654435761 + 1;
const random = (below) => {
  state = (Math.imul(state ^ (state >>> 15), 2246822519) + 374761393) >>> 0;
  return state % below;
};
const pick = (list) => list[random(list.length)];
// Node's own recursive listing fails below a folder whose name is no UTF-8.
const entries = () => {
  const found = [];
  const open = [target];
  for (const folder of open) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.name.includes('\ufffd')) continue;
      const path = join(folder, entry.name);
      found.push({ entry, path });
      if (entry.isDirectory()) open.push(path);
    }
  }
  return found;
};
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
  [
    'case of a name',
    () => {
      const path = pick(files());
      renameSync(
        path,
        join(
          dirname(path),
          basename(path).replace(/[a-z]/g, (letter) => letter.toUpperCase()),
        ),
      );
    },
  ],
  [
    'folder to file',
    () => {
      const folder = pick(folders().slice(1));
      if (!folder) return;
      rmSync(folder, { recursive: true });
      writeFileSync(folder, 'no folder');
    },
  ],
  ['odd name', () => writeFileSync(join(pick(folders()), pick(ODD) + random(9)), 'new')],
  ['change of odd bytes', () => writeFileSync(oddBytes(), `spoiled ${random(1e6)}`)],
  ['deletion of odd bytes', () => unlinkSync(oddBytes())],
  ['new odd bytes', () => writeFileSync(Buffer.concat([oddBytes(), Buffer.of(0xf0 + random(15))]), 'new')],
  ['move of odd bytes', () => renameSync(oddBytes(), fresh(own))],
  ['modes of a folder', () => chmodSync(pick(folders()), pick([0o755, 0o700, 0o777]))],
  ['pipe', () => spawnSync('mkfifo', [fresh(pick(folders()))])],
  ['nested repository', () => mkdirSync(join(fresh(pick(folders()), ''), '.git'), { recursive: true })],
  ['own work', () => appendFileSync(join(own, 'work.ts'), `${random(1e6)}\n`)],
  ['own file', () => writeFileSync(fresh(own), 'work')],
];

const ODD = ['with space', 'line\nbreak', '-rf', '--help', '*', '\\', '\u00e9', 'e\u0301', 'x'.repeat(240)];

/** A file below the target whose name is no UTF-8; that name in an empty target. */
function oddBytes() {
  const all = [];
  const open = [Buffer.from(`${target}/`)];
  for (const folder of open) {
    for (const entry of readdirSync(folder, { encoding: 'buffer', withFileTypes: true })) {
      const path = Buffer.concat([folder, entry.name]);
      if (entry.isDirectory()) open.push(Buffer.concat([path, Buffer.from('/')]));
      else if (!Buffer.from(path.toString()).equals(path)) all.push(path);
    }
  }
  return all.length > 0 ? pick(all) : Buffer.concat([Buffer.from(`${target}/`), Buffer.of(0xe9)]);
}

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
