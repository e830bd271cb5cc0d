import { forEachChild, parse, type Script, type SyntaxNode } from 'unbash';
import { walkNode, walkStatements } from './interpret/interpret-statements.ts';
import { isShell } from './program-words.ts';
import { type ReadOptions, type ShellReading, UNKNOWN } from './shell-reading.ts';
import {
  type Facts,
  NO_INPUT,
  type Outcome,
  report,
  SILENT,
  type Stream,
  UNKNOWN_STREAM,
  type Walk,
  type World,
} from './shell-state.ts';

/** Characters outside heredoc bodies that go to no shell. */
const MAX_COMMAND = 16 * 1024;
/** Not even looked at above this, heredocs or not. */
const MAX_SOURCE = 4 * 1024 * 1024;
/** Strings in strings, functions in functions, substitutions in substitutions. */
const MAX_DEPTH = 24;

/** Reads a shell command into facts, without running anything. Never throws, whatever the text. */
export function readShellCommand(source: string, options: ReadOptions): ShellReading {
  const facts: Facts = {
    commands: [],
    opened: [],
    pipelines: [],
    writes: [],
    reads: [],
    undecidable: [],
    seen: new Set(),
    called: new Set(),
    steps: 0,
    element: [],
  };
  // The shell drops NUL; here it stands for what is unknown.
  const text = source.replaceAll('\0', '');
  const walk: Walk = {
    facts,
    options,
    source: text,
    position: null,
    depth: 0,
    via: [],
    node: walkNode,
    script: walkScript,
    text: walkText,
  };
  try {
    const least = text.length > MAX_COMMAND ? text.length - heredocSize(text) : 0;
    if (text.length > MAX_SOURCE || least > MAX_COMMAND) report(walk, 'too-large', text, 0, null);
    else {
      const script = parse(text);
      if (text.length > MAX_COMMAND && sizeThatCounts(script, text) > MAX_COMMAND)
        report(walk, 'too-large', text, 0, null);
      else {
        const { worlds } = walkScript(script, [firstWorld(options)], NO_INPUT, walk);
        walkUncalledFunctions(worlds, walk);
      }
    }
  } catch (error) {
    // The parser resolves nested parts on access and can run out of stack there.
    report(walk, 'too-deep', error instanceof RangeError ? text : `${text}\n${String(error)}`, 0, null);
  }
  return facts;
}

function walkScript(
  script: Script & { errors?: unknown },
  worlds: readonly World[],
  stdin: Stream,
  walk: Walk,
): Outcome {
  const inner =
    script.source === undefined ? walk : { ...walk, source: script.source, position: walk.position ?? script.pos };
  if (Array.isArray(script.errors) && script.errors.length > 0) {
    report(inner, 'parse-error', inner.source.slice(script.pos, script.end), script.pos, worlds[0]?.cwd ?? null);
  }
  if (walk.depth >= MAX_DEPTH) {
    report(inner, 'too-deep', inner.source, script.pos, null);
    return { worlds, output: SILENT };
  }
  return walkStatements(script.commands, worlds, stdin, { ...inner, depth: walk.depth + 1 });
}

/** Reads a text that a shell is given to run (`bash -c`, `eval`, a heredoc to a shell). */
function walkText(text: string, worlds: readonly World[], stdin: Stream, walk: Walk): Outcome {
  if (text.trim() === UNKNOWN) return { worlds, output: UNKNOWN_STREAM };
  const inner = { ...walk, source: text, position: walk.position ?? 0 };
  if (text.length > MAX_COMMAND) {
    report(inner, 'too-large', text, 0, null);
    return { worlds, output: SILENT };
  }
  return walkScript(parse(text), worlds, stdin, inner);
}

function firstWorld(options: ReadOptions): World {
  return {
    cwd: options.cwd,
    previous: '\0',
    stack: [],
    variables: new Map(),
    positional: null,
    functions: new Map(),
    files: new Map(),
  };
}

function sizeThatCounts(script: Script, text: string): number {
  let size = text.length;
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Command') {
      const words = [node.name, ...node.suffix].filter((each) => each?.type === 'Word');
      if (words.some((word) => isShell(word.value))) return;
      for (const redirect of node.redirects) {
        const inert =
          redirect.type === 'HereDoc' && (redirect.delimiter?.quoted === true || !/[`]|\$\(/.test(redirect.body.text));
        if (inert) size -= redirect.body.text.length;
      }
    } else if (node.type !== 'Word' && node.type !== 'Assignment') forEachChild(node, visit);
  };
  visit(script);
  return size;
}

/** A function that nothing called may still run (a trap, a later command of the same shell): its body is read once. */
export function walkUncalledFunctions(worlds: readonly World[], walk: Walk): void {
  for (const world of worlds) {
    for (const body of world.functions.values()) {
      if (body.kind !== 'function' || walk.facts.called.has(body.node)) continue;
      walk.facts.called.add(body.node);
      walk.node(body.node, [{ ...world, positional: null }], NO_INPUT, { ...walk, source: body.source });
    }
  }
}

/**
 * How many characters of a text stand in heredoc bodies, by a scan of lines that errs towards more.
 * It spares the parser a text that is too large whatever its heredocs are: 1 MB of `a;` takes it 300 ms.
 */
export function heredocSize(text: string): number {
  let size = 0;
  const opener = /<<-?[ \t]*\\?(['"]?)([^\s'"<>|;&()]+)\1/g;
  for (let match = opener.exec(text); match !== null; match = opener.exec(text)) {
    const start = text.indexOf('\n', opener.lastIndex);
    if (start === -1) break;
    const end = endOfBody(text, start + 1, match[2] ?? '');
    size += end - start;
    opener.lastIndex = end;
  }
  return size;
}

function endOfBody(text: string, start: number, delimiter: string): number {
  for (let at = text.indexOf(delimiter, start); at !== -1; at = text.indexOf(delimiter, at + 1)) {
    const lineStart = text.lastIndexOf('\n', at) + 1;
    const after = text[at + delimiter.length];
    if ((after === undefined || after === '\n') && /^\t*$/.test(text.slice(lineStart, at))) return at;
  }
  return text.length;
}
