import { readFindings } from '../../../../../src/engine/findings/read-findings.ts';
import { outsideComments } from '../../../../../src/text/markdown/comments.ts';
import { readLists } from '../../../../../src/text/markdown/lists.ts';

/** Reads a text by everything that is built on the line scanner. */
export function readMarkdown(text: string): number {
  let items = 0;
  readLists(text, { item: () => (items += 1) });
  return items + outsideComments(text).length;
}

/** Reads the rows of a table in HTML, as a log of findings may have one. */
export function readRows(text: string): number {
  return readFindings(`<table><tr>${text}`).findings.length;
}

/** The control: looks for the end of each comment in the whole rest of the text. */
export function readQuadratically(text: string): number {
  let found = 0;
  for (let at = text.indexOf('<!--'); at !== -1; at = text.indexOf('<!--', at + 4)) {
    if (text.indexOf('-->', at) !== -1) found += 1;
  }
  return found;
}
