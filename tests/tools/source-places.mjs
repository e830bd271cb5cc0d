import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, relative, resolve } from 'node:path';

/** A place in a bundle, as stack traces name it. */
const PLACE = /(?:file:\/\/)?(\/[^\s()]+\.mjs):(\d+):(\d+)/g;

/**
 * Names the places of bundles by their sources, in what a run of tests reports. The run does so itself, once a test fails:
 * a test file that reads the maps takes a third longer to start.
 */
export function sourcePlaces() {
  const maps = new Map();
  const mapOf = (path) => {
    if (!maps.has(path)) maps.set(path, readMap(path));
    return maps.get(path);
  };
  const source = (path, line, column) => {
    const found = mapOf(path)?.findEntry(line - 1, column - 1);
    if (found?.originalSource === undefined) return null;
    const file = resolve(dirname(path), found.originalSource);
    return { file, line: found.originalLine + 1, column: found.originalColumn + 1 };
  };
  const inText = (text) =>
    text.replace(PLACE, (whole, path, line, column) => {
      const at = source(path, Number(line), Number(column));
      return at === null ? whole : `${relative(process.cwd(), at.file)}:${at.line}:${at.column}`;
    });
  return {
    inText,
    /** Changes the data of an event: where its test is, and the stack of its error and of the cause of it. */
    inEvent(data) {
      if (data.file !== undefined) Object.assign(data, source(data.file, data.line, data.column));
      for (let error = data.details?.error; typeof error?.stack === 'string'; error = error.cause)
        Object.defineProperty(error, 'stack', { value: inText(error.stack) });
    },
  };
}

/** Not every program of a test is a bundle with a map. */
function readMap(path) {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')));
  } catch {
    return null;
  }
}
