import { existsSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, relative, sep } from 'node:path';
import { withPrefix } from '../../drive/turn/messages.ts';
import { namesIn, readRegularFile } from '../../state/files/regular-file.ts';
import type { CommandContext } from '../command.ts';
import type { DraftedTask } from '../task/draft.ts';

/** Removes drafts that were not started, and their folders in the project as far as they are empty. Keeps one that was edited. */
export function removeDrafts({ projectDir, err }: CommandContext, drafted: readonly DraftedTask[]): void {
  for (const { path, text, made } of drafted) {
    if (readRegularFile(path) === text) for (const file of [path, ...made]) removeFrom(projectDir, file);
    else if (existsSync(path)) err(withPrefix(`Kept ${relative(process.cwd(), path)}, which was edited.`));
  }
}

function removeFrom(projectDir: string, file: string): void {
  rmSync(file, { force: true });
  for (let at = dirname(file); at.startsWith(`${projectDir}${sep}`) && namesIn(at).length === 0; at = dirname(at)) {
    rmdirSync(at);
  }
}
