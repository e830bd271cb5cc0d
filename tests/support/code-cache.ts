import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { HOOK_FILES } from '../../src/install/settings/registration.ts';
import { cacheName } from '../../src/state/files/code-cache.ts';

/** Compiled code of the program under test. */
const CODE_CACHE = resolve('.build', 'code-cache');

/**
 * Shares one code cache with all programs that have this folder as their XDG_STATE_HOME: compiling is half of what a
 * command of the program costs.
 */
export function shareCodeCache(stateHome: string): void {
  const outside = join(stateHome, 'ralph-loop');
  for (const folder of [CODE_CACHE, outside]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  symlinkSync(CODE_CACHE, join(outside, 'code-cache'), 'junction');
}

const ENTRIES = ['main', 'statusline', ...HOOK_FILES.map((file) => file.replace('.cjs', ''))];
/** The options of node with which the program runs: as a command, and as a hook. */
const NODE_OPTIONS = [[], ['--v8-pool-size=0']];

/**
 * Lets the copy of the program that `init` has just put into this folder begin with the code that other copies of the
 * same build have compiled; a cache is named after the path of what it was compiled from, and each test has a project of
 * its own. Gives what leaves the code that this copy has compiled to later ones.
 */
export function shareCodeOfCopy(scripts: string, bundled: string): () => void {
  const chunks = readdirSync(scripts).filter((name) => name.startsWith('ralph-'));
  const caches = chunks.flatMap((chunk) =>
    NODE_OPTIONS.flatMap((options) =>
      ENTRIES.map((entry) => {
        const [own = '', shared = ''] = [scripts, bundled].map((folder) => {
          const path = join(folder, chunk);
          return cacheName(entry, path, statSync(path), options);
        });
        return [own, `copies-of-${shared}`];
      }),
    ),
  );
  const paths = caches.map((names) => names.map((name) => join(CODE_CACHE, name)) as [string, string]);
  for (const [own, shared] of paths) if (existsSync(shared)) symlinkSync(shared, own);
  return () => {
    for (const [own, shared] of paths) {
      const found = lstatSync(own, { throwIfNoEntry: false });
      if (found?.isFile() === true) renameSync(own, shared);
      else rmSync(own, { force: true });
    }
  };
}
