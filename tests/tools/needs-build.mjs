// Ends the program that imports it, in one line, where a file is missing that the build makes for the sources.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const IMPORTED = / from '(?:\.\.\/)+(\.build\/[\w-]+\.json)'/g;

const sources = ['src', 'tests/property'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true }).map((name) => join(root, folder, name)),
);
const needed = sources
  .filter((path) => path.endsWith('.ts'))
  .flatMap((path) => [...readFileSync(path, 'utf8').matchAll(IMPORTED)].map(([, file]) => file));
if (!needed.every((file) => existsSync(join(root, file)))) {
  console.error('Run npm run build first.');
  process.exit(1);
}
