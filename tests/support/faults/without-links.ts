import { createRequire } from 'node:module';

const fs = createRequire(import.meta.url)('node:fs') as { linkSync: unknown };

/** Makes this process believe from now on that its file system has no hard links. */
export function withoutLinks(): void {
  fs.linkSync = () => {
    throw Object.assign(new Error('EPERM: no hard links here'), { code: 'EPERM' });
  };
}
