import type {
  AndOr,
  Case,
  CommandNode,
  CompoundList,
  For,
  If,
  Pipeline,
  PipelineNode,
  Select,
  Statement,
} from 'unbash';
import { expandWord, readSubstitutions } from '../expand/expand-word.ts';
import { UNKNOWN } from '../shell-reading.ts';
import type { Outcome, Stream, ValueWord, Walk, World } from '../shell-state.ts';
import { isSpent, SILENT, spend, UNKNOWN_STREAM, uniteWorlds, withVariable } from '../shell-state.ts';
import { readRedirections, runSimpleCommand } from './run-simple-command.ts';

type Node = PipelineNode | AndOr | CompoundList;

/** Items of a `for` that are followed one by one. */
const MAX_ITEMS = 64;

/** Reads statements in order; what one leaves behind is where the next starts. */
export function walkStatements(
  list: readonly Statement[],
  worlds: readonly World[],
  stdin: Stream,
  walk: Walk,
): Outcome {
  let current = worlds;
  let output = SILENT;
  let failed: readonly World[] = [];
  for (const statement of list) {
    if (isSpent(walk)) break;
    const start = failed.length === 0 ? current : uniteWorlds(current, failed);
    const outcome = walkNode(statement.command, start, stdin, walk);
    output = appended(output, outcome.output);
    current = statement.background === true ? start : outcome.worlds;
    failed = statement.background === true ? [] : (outcome.failed ?? []);
  }
  return { worlds: current, failed, output };
}

export function walkNode(node: Node, worlds: readonly World[], stdin: Stream, walk: Walk): Outcome {
  if (!spend(walk, node.pos)) return { worlds, output: UNKNOWN_STREAM };
  switch (node.type) {
    case 'Command':
      return runSimpleCommand(node, worlds, stdin, walk);
    case 'Pipeline':
      return walkPipeline(node, worlds, stdin, walk);
    case 'AndOr':
      return walkAndOr(node, worlds, stdin, walk);
    case 'CompoundList':
      return walkStatements(node.commands, worlds, stdin, walk);
    case 'BraceGroup':
      return walkStatements(node.body.commands, worlds, stdin, walk);
    case 'Subshell':
      return { worlds, output: walkStatements(node.body.commands, worlds, stdin, walk).output };
    case 'Coproc':
      return { worlds, output: walkNode(node.body, worlds, stdin, walk).output };
    case 'Redirected': {
      const read = readRedirections(node.redirects, worlds, stdin, '', walk);
      const outcome = walkNode(node.command, worlds, read.stdin, walk);
      return read.stdoutTo === null ? outcome : { ...outcome, output: SILENT };
    }
    case 'If':
      return walkIf(node, worlds, stdin, walk);
    case 'For':
    case 'Select':
      return walkFor(node, worlds, stdin, walk);
    case 'ArithmeticFor':
    case 'While': {
      if (node.type === 'ArithmeticFor') {
        for (const part of [node.initialize, node.test, node.update])
          if (part && worlds[0]) readSubstitutions(part, worlds[0], walk);
      }
      const clause = node.type === 'While' ? walkNode(node.clause, worlds, stdin, walk) : { worlds, output: SILENT };
      const body = walkNode(node.body, clause.worlds, stdin, walk);
      return { worlds: uniteWorlds(worlds, clause.worlds, body.worlds), output: appended(body.output, UNKNOWN_STREAM) };
    }
    case 'Case':
      return walkCase(node, worlds, stdin, walk);
    case 'Function': {
      const body = { kind: 'function', node: node.body, source: walk.source } as const;
      return {
        worlds: worlds.map((world) => ({ ...world, functions: new Map(world.functions).set(node.name.value, body) })),
        output: SILENT,
      };
    }
    case 'TestCommand':
    case 'ArithmeticCommand':
      for (const world of worlds) readSubstitutions(node, world, walk);
      return { worlds, output: SILENT };
    default:
      return node satisfies never;
  }
}

function walkPipeline(node: Pipeline, worlds: readonly World[], stdin: Stream, walk: Walk): Outcome {
  const only: CommandNode | undefined = node.commands.length === 1 ? node.commands[0] : undefined;
  if (only !== undefined) return walkNode(only, worlds, stdin, walk);
  const { facts } = walk;
  const outer = facts.element;
  const elements: Array<typeof outer> = [];
  const written: World[] = [];
  let stream = stdin;
  for (const command of node.commands) {
    facts.element = [];
    // Each element runs in a shell of its own.
    const outcome = walkNode(command, worlds, stream, walk);
    stream = { ...outcome.output, kind: 'pipe' };
    elements.push(facts.element);
    written.push(...outcome.worlds);
  }
  for (const element of elements) for (const command of element) outer.push(command);
  facts.element = outer;
  facts.pipelines.push(elements);
  return { worlds: withFilesOf(written, worlds), output: stream };
}

/** Of what a shell of its own leaves behind, its files alone are there afterwards. */
function withFilesOf(written: readonly World[], worlds: readonly World[]): readonly World[] {
  const isNew = ([path, text]: [string, string]): boolean => !worlds.some((world) => world.files.get(path) === text);
  const files = new Map(written.flatMap((world) => [...world.files].filter(isNew)));
  return files.size === 0 ? worlds : worlds.map((world) => ({ ...world, files: new Map([...world.files, ...files]) }));
}

function walkAndOr(node: AndOr, worlds: readonly World[], stdin: Stream, walk: Walk): Outcome {
  const [first, ...others] = node.commands;
  if (first === undefined) return { worlds, output: SILENT };
  let last = walkNode(first, worlds, stdin, walk);
  let failed = last.failed ?? [];
  let output = last.output;
  others.forEach((command, index) => {
    if (node.operators[index] === '&&') {
      last = walkNode(command, last.worlds, stdin, walk);
      failed = uniteWorlds(failed, last.failed ?? []);
    } else {
      const left = last;
      last = walkNode(command, uniteWorlds(left.worlds, failed), stdin, walk);
      // `cd x || exit`: what follows runs only where the left side succeeded.
      const leaves = command.type === 'Command' && /^(exit|return|break|continue)$/.test(command.name?.value ?? '');
      last = leaves
        ? { worlds: left.worlds, output: last.output }
        : { ...last, worlds: uniteWorlds(left.worlds, last.worlds) };
      failed = last.failed ?? [];
    }
    output = appended(output, last.output);
  });
  return { worlds: last.worlds, failed, output };
}

function walkIf(node: If, worlds: readonly World[], stdin: Stream, walk: Walk): Outcome {
  const groups: Array<readonly World[]> = [];
  let clause = walkNode(node.clause, worlds, stdin, walk);
  const then = walkNode(node.then, clause.worlds, stdin, walk);
  groups.push(then.worlds);
  let output = then.output;
  for (const elif of node.elif) {
    clause = walkNode(elif.clause, uniteWorlds(clause.worlds, clause.failed ?? []), stdin, walk);
    const branch = walkNode(elif.then, clause.worlds, stdin, walk);
    groups.push(branch.worlds);
    output = either(output, branch.output);
  }
  const start = uniteWorlds(clause.worlds, clause.failed ?? []);
  const last = node.else === undefined ? { worlds: start, output: SILENT } : walkNode(node.else, start, stdin, walk);
  return { worlds: uniteWorlds(...groups, last.worlds), output: either(output, last.output) };
}

function walkFor(node: For | Select, worlds: readonly World[], stdin: Stream, walk: Walk): Outcome {
  const results: Array<readonly World[]> = [worlds];
  let output = SILENT;
  for (const world of worlds) {
    let current: readonly World[] = [world];
    for (const item of itemsOf(node, world, walk)) {
      if (isSpent(walk)) break;
      const outcome = walkNode(
        node.body,
        current.map((each) => withVariable(each, node.name.value, [item])),
        stdin,
        walk,
      );
      current = outcome.worlds;
      output = appended(output, outcome.output);
    }
    results.push(current);
  }
  return { worlds: uniteWorlds(...results), output: worlds.length > 1 ? UNKNOWN_STREAM : output };
}

function itemsOf(node: For | Select, world: World, walk: Walk): readonly ValueWord[] {
  if (node.wordlist === undefined) return world.positional ?? [{ template: UNKNOWN }];
  const words = node.wordlist.flatMap((word) => expandWord(word, world, walk));
  if (words.length > MAX_ITEMS) return [{ template: UNKNOWN }];
  return words.map((word) => ({
    template: word.template,
    ...(word.pattern === undefined ? {} : { pattern: word.pattern }),
    ...(word.under === undefined ? {} : { under: word.under }),
  }));
}

function walkCase(node: Case, worlds: readonly World[], stdin: Stream, walk: Walk): Outcome {
  for (const world of worlds) expandWord(node.word, world, walk);
  const groups: Array<readonly World[]> = [worlds];
  let output = SILENT;
  for (const item of node.items) {
    for (const world of worlds) for (const pattern of item.pattern) readSubstitutions(pattern, world, walk);
    const outcome = walkNode(item.body, worlds, stdin, walk);
    groups.push(outcome.worlds);
    output = either(output, outcome.output);
  }
  return { worlds: uniteWorlds(...groups), output };
}

/** What two commands print one after the other. */
function appended(first: Stream, second: Stream): Stream {
  if (first.text === '' && first.under === undefined) return second;
  if (second.text === '' && second.under === undefined) return first;
  const under = first.under ?? second.under;
  return { kind: 'literal', text: first.text + second.text, ...(under === undefined ? {} : { under }) };
}

/** What one of two branches prints. */
function either(first: Stream, second: Stream): Stream {
  if (first.text === second.text || second.text === '') return first;
  return first.text === '' ? second : UNKNOWN_STREAM;
}
