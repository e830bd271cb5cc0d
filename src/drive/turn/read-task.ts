import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { regularFile } from '../../state/regular-file.ts';
import { splitFrontmatter } from '../../task/split-frontmatter.ts';

export interface TaskText {
  readonly body: string;
  readonly frontmatter: string;
}

/** The task file as it stands now, or null when it is missing, empty, unreadable or no file. */
export function readTask(projectDir: string, taskPath: string): TaskText | null {
  let text: string;
  try {
    text = readFileSync(regularFile(join(projectDir, taskPath)), 'utf8');
  } catch {
    return null;
  }
  const { body, frontmatter } = splitFrontmatter(text);
  return body.trim() === '' ? null : { body, frontmatter };
}
