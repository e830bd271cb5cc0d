import { PROJECT_CONFIG } from '../../task/task-file.ts';
import { placeFile, readText, safePath } from '../files/project-files.ts';
import { insertIntoJson, memberOf, parseSettings } from './settings-json.ts';

/** Sets one key of the project's config.json and leaves every other byte as it was. */
export function setProjectConfig(projectDir: string, key: string, value: number): void {
  const text = readText(safePath(projectDir, PROJECT_CONFIG)) ?? '';
  placeFile(projectDir, PROJECT_CONFIG, withValue(text, key, value), 0o644);
}

function withValue(text: string, key: string, value: number): string {
  const root = parseSettings(text, PROJECT_CONFIG);
  if (root === null) return `${JSON.stringify({ [key]: value }, null, 2)}\n`;
  const old = memberOf(root, key);
  if (old !== null) return text.slice(0, old.offset) + JSON.stringify(value) + text.slice(old.offset + old.length);
  const insertion = insertIntoJson(text, root, key, value);
  return text.slice(0, insertion.offset) + insertion.text + text.slice(insertion.offset);
}
