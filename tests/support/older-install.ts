import { createHash } from 'node:crypto';
import type { Project } from './project.ts';

const MANIFEST = '.claude/ralph/.install.json';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Makes the programs that `init` has installed those of another version. */
export function makeOlder(p: Project): void {
  const manifest = JSON.parse(p.read(MANIFEST)) as { version: string; files: Record<string, string> };
  const ours = Object.keys(manifest.files).filter((path) => path.endsWith('.cjs'));
  for (const path of ours) {
    p.write(path, `// ${path} of another version\n`);
    manifest.files[path] = sha256(p.read(path));
  }
  p.write(MANIFEST, { ...manifest, version: '0.0.1' });
}
