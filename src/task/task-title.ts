import { readLists } from '../text/markdown/lists.ts';
import { splitFrontmatter } from './frontmatter/split-frontmatter.ts';

/** Maximum length of a title. */
const MOST = 80;

/** Returns a title for a task file: its first heading, else its first line; '' for a file without either. */
export function taskTitle(text: string): string {
  const { body } = splitFrontmatter(text);
  let heading = '';
  readLists(body, {
    item: () => undefined,
    heading: (title) => {
      heading ||= title;
    },
  });
  const [first = ''] = body.split('\n').flatMap((line) => line.trim() || []);
  const title = heading || first;
  return title.length <= MOST ? title : `${title.slice(0, MOST - 1).trimEnd()}…`;
}
