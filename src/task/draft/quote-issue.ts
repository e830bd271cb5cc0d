interface Written {
  readonly title: string;
  readonly body?: string | null | undefined;
  readonly url: string;
  readonly comments: readonly {
    readonly author?: { readonly login: string } | null | undefined;
    readonly body: string;
  }[];
}

/** Maximum number of characters of an issue in a task file, of its description, and of each of its comments. */
const MOST = 12_000;
const MOST_OF_BODY = 8000;
const MOST_OF_COMMENT = 2000;

/**
 * Returns the text of an issue to be quoted in a task: without control and direction characters, and cut with a note.
 * It decides nothing: kind, name, checks and settings of the task do not depend on it.
 */
export function issueText({ title, body, url, comments }: Written): string {
  const said = comments.map(
    ({ author, body: text }) =>
      `Comment by ${clean(author?.login ?? 'unknown', 100)}:\n\n${clean(text, MOST_OF_COMMENT)}`,
  );
  const whole = [clean(title, 300).replace(/\s+/g, ' '), clean(body ?? '', MOST_OF_BODY), ...said]
    .filter((part) => part !== '')
    .join('\n\n');
  return `${url}\n\n${cut(whole, MOST)}`;
}

function clean(text: string, most: number): string {
  const plain = text
    .slice(0, most * 4)
    .replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    .replace(/\t/g, '  ')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu, (found) => (found === '\n' ? found : ''));
  return cut(plain.trim(), most, text.length);
}

function cut(text: string, most: number, length = text.length): string {
  if (text.length <= most && length <= most * 4) return text;
  return `${text.slice(0, most)}\n[cut: ${length} characters in all; read the rest at its address]`;
}
