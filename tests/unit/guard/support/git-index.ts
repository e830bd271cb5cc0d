import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Makes `root` a repository that tracks `paths`, without starting git: what reads only the list of tracked files needs no more. */
export function writeGitIndex(root: string, paths: readonly string[]): void {
  for (const folder of ['objects', 'refs/heads']) mkdirSync(join(root, '.git', folder), { recursive: true });
  writeFileSync(join(root, '.git', 'HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(join(root, '.git', 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = false\n');
  const sorted = [...paths].sort();
  const header = Buffer.alloc(12);
  header.write('DIRC');
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(sorted.length, 8);
  const content = Buffer.concat([header, ...sorted.map(indexEntry)]);
  writeFileSync(join(root, '.git', 'index'), Buffer.concat([content, createHash('sha1').update(content).digest()]));
}

/** An entry of version 2: stat fields, mode, object name, length of the path, and the path padded to 8 bytes. */
function indexEntry(path: string): Buffer {
  const bytes = Buffer.from(path);
  const entry = Buffer.alloc((62 + bytes.length + 8) & ~7);
  entry.writeUInt32BE(0o100644, 24);
  entry.writeUInt16BE(Math.min(bytes.length, 0xfff), 60);
  bytes.copy(entry, 62);
  return entry;
}
