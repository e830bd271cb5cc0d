import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';

/** A fresh folder by its real path, removed after the test; every project of a test is in one. */
export function emptyFolder(context: { readonly after: (work: () => void) => void }): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-test-')));
  context.after(() => remove(directory));
  return directory;
}

/**
 * Removes a folder, at the end of the process if a process still writes into it: hooks run in the order of their
 * registration, and one that throws keeps those after it, which end such processes, from running.
 */
function remove(directory: string): void {
  const now = (): void => rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  try {
    now();
  } catch {
    process.once('exit', () => {
      try {
        now();
      } catch (error) {
        console.error(`${directory} is left behind: ${error}`);
      }
    });
  }
}

/** A fresh folder with these files, removed after the test. */
export function folderWith(context: TestContext, files: Readonly<Record<string, string>> = {}): string {
  const directory = emptyFolder(context);
  writeFiles(directory, files);
  return directory;
}

export function writeFiles(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content, { mode: path.endsWith('.sh') ? 0o755 : 0o644 });
  }
}
