import type { PlanTaskStatus } from '../../core/plan-task.ts';

export interface TaskHead {
  /** null for a box that names no task. */
  readonly id: string | null;
  readonly title: string;
  readonly status: PlanTaskStatus;
  /** Of the mark in the box, from the beginning of the line. */
  readonly boxAt: number;
}

const BOX = /^\[([ \txX])\](?:[ \t]+|$)/;
const ANNOTATION = /^\((blocked|manual-verify)\)[ \t]*/i;
/** Within one line. */
export const INLINE_COMMENT = /<!--.*?-->/g;
const OPENING = /^(?:\*\*|__|\*|_|`)/;
/** `Task 5: Title`, `Task 5 - Title`, `Task 5. Title`; a remark in brackets may stand behind the id. */
const NAMED =
  /^(tasks?[ \t]+)?([^\s:*`()]+?)[ \t]*(?:\([^()]*\))?(\*\*|__|\*|_|`)?[ \t]*(:|\.(?=[\s*_`]|$)|[ \t][-–—][ \t]|$)[ \t]*(.*)$/i;

/** Reads the first line of an item with a box; null where it has none. Never throws. */
export function readHead(line: string): TaskHead | null {
  const [box, mark = ' '] = BOX.exec(line) ?? [];
  if (box === undefined) return null;
  let rest = line.slice(box.length);
  let status: PlanTaskStatus = mark === 'x' || mark === 'X' ? 'done' : 'open';
  for (let found = ANNOTATION.exec(rest); found !== null; found = ANNOTATION.exec(rest)) {
    // What is blocked is not to be verified yet.
    if (status === 'open' || status === 'manual-verify')
      status = found[1]?.toLowerCase() === 'blocked' ? 'blocked' : 'manual-verify';
    rest = rest.slice(found[0].length);
  }
  return { ...named(rest.replace(INLINE_COMMENT, '').trim()), status, boxAt: 1 };
}

function named(text: string): Pick<TaskHead, 'id' | 'title'> {
  const [mark = ''] = OPENING.exec(text) ?? [];
  const [, word, token = '', closing, separator, rest = ''] = NAMED.exec(text.slice(mark.length)) ?? [];
  // Without the word "Task", a bold name or a number shows that a task is meant, and not a remark such as "TODO: tidy".
  const isNamed = (mark !== '' || /\d/.test(token)) && !/^https?$/i.test(token) && /[:–—-]/.test(separator ?? '');
  if (token === '' || (word === undefined && !isNamed)) return { id: null, title: text };
  const id = word === undefined ? token : `Task ${token}`;
  const title = mark === '' || closing === mark ? rest : withoutFirst(rest, mark);
  return { id, title: title.trim() || id };
}

/** What is bold ends behind the colon, behind the title, or before a remark: `**Task 1: Title** (soon)`. */
function withoutFirst(text: string, mark: string): string {
  const at = text.indexOf(mark);
  return at === -1 ? text : text.slice(0, at) + text.slice(at + mark.length);
}
