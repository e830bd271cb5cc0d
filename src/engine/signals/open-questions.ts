import { readLists } from '../../text/markdown/lists.ts';

/** An item of a list that stands open under a P0 or P1 heading. */
export interface OpenQuestion {
  /** The innermost section that it stands in; `P0` for a heading that names both. */
  readonly section: 'P0' | 'P1';
  readonly line: number;
  readonly text: string;
}

interface Section {
  readonly name: 'P0' | 'P1';
  readonly level: number;
}

const SECTION = /^[^\p{L}\p{N}]*P([01])(?:\s*\/\s*P([01]))?(?![\p{L}\p{N}])/iu;

/** List items under P0 and P1 headings that are not checked. Prose, code, comments and quotes do not count. */
export function openQuestions(text: string): OpenQuestion[] {
  let sections: Section[] = [];
  const found: OpenQuestion[] = [];
  readLists(text, {
    heading: (title, level) => {
      // It ends the sections of its own level and below, and opens one if it says so.
      sections = sections.filter((section) => section.level < level);
      const [, first, second] = SECTION.exec(title.replace(/[*_]/g, '')) ?? [];
      if (first !== undefined) sections.push({ name: first === '0' || second === '0' ? 'P0' : 'P1', level });
    },
    item: ({ checked, inDone, line, text: said }) => {
      const section = sections.at(-1)?.name;
      // A plain item under a checked one is a note.
      if (section !== undefined && (checked === null ? !inDone : !checked)) found.push({ section, line, text: said });
    },
  });
  return found;
}
