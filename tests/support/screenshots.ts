import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where every test run leaves pictures of pages and screens of terminals for a person, and a CI as an artefact. */
export const SCREENSHOTS = join('reports', 'screenshots');

/** Returns where a picture of this name is written. */
export function screenshotPath(name: string): string {
  mkdirSync(SCREENSHOTS, { recursive: true });
  return join(SCREENSHOTS, name);
}

/** Writes what a terminal shows into `NAME.txt`. */
export function keepScreen(name: string, screen: string): void {
  writeFileSync(screenshotPath(`${name}.txt`), `${screen}\n`);
}
