import { excerpt, firstLine } from '../text/quote.ts';

/** Input fields that best describe a tool call, in order of preference. */
const TELLING = ['command', 'file_path', 'notebook_path', 'path', 'pattern', 'url', 'query', 'skill', 'description'];
export const MOST_SUBJECT = 160;

/** Returns the subject of a tool call, in one line of at most MOST_SUBJECT characters: its command, file or pattern. */
export function toolSubject(input: Readonly<Record<string, unknown>>, projectDir: string | null): string {
  const value = TELLING.map((key) => input[key]).find((each) => typeof each === 'string');
  // The project's path is not searched for in a script of megabytes.
  const said = typeof value === 'string' ? value.slice(0, 4 * MOST_SUBJECT) : '';
  const shown = projectDir === null ? said : said.replaceAll(`${projectDir}/`, '');
  return excerpt(firstLine(shown.trim()), MOST_SUBJECT);
}
