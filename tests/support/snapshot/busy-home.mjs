// Another program of the user: changes files below a folder without a pause until SIGTERM, and counts each file that is not
// as it left it. Usage: node busy-home.mjs FOLDER FILE... ; prints { changes, lost } at its end.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const [folder, ...names] = process.argv.slice(2);
const left = new Map(names.map((name) => [name, read(join(folder, name))]));
const lost = new Set();
let changes = 0;
let isOver = false;
process.on('SIGTERM', () => (isOver = true));

/** Returns the text of a file; null if there is none, also where a loop takes it away meanwhile. */
function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error.code === 'EISDIR') return null;
    throw error;
  }
}

function look(name) {
  if (read(join(folder, name)) !== left.get(name)) lost.add(name);
}

function change(name) {
  const path = join(folder, name);
  changes += 1;
  if (changes % 5 === 0) {
    rmSync(path, { force: true });
    left.set(name, null);
    return;
  }
  const text = name.endsWith('.json')
    ? JSON.stringify({ hooks: {}, disableAllHooks: true, changes })
    : `by hand ${changes}\n`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.draft`, text);
  renameSync(`${path}.draft`, path);
  left.set(name, text);
}

process.stdout.write('ready\n');
while (!isOver) {
  for (const name of names) {
    look(name);
    change(name);
  }
  await new Promise((resolve) => setTimeout(resolve, 5));
}
for (const name of names) look(name);
process.stdout.write(`${JSON.stringify({ changes, lost: [...lost] })}\n`);
