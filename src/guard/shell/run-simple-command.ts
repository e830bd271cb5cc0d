import type { Assignment, Command, ParameterExpansionPart, Word, WordPart } from 'unbash';
import type { Assigned } from './call.ts';
import { expandToValue, expandWord, readSubstitutions } from './expand-word.ts';
import { fileKey } from './file-key.ts';
import { openCommand } from './open-command.ts';
import { readRedirections } from './read-redirections.ts';
import type { ShellWord } from './shell-reading.ts';
import { UNKNOWN } from './shell-reading.ts';
import { basenameOf } from './shells.ts';
import type { Outcome, Stream, Walk } from './walk.ts';
import { SILENT, spend, UNKNOWN_STREAM } from './walk.ts';
import { wordOf } from './word-builder.ts';
import type { ValueWord, World } from './world.ts';
import { uniteWorlds, withVariable } from './world.ts';

/** Expands one simple command in every world in which it may run, and opens what it starts. */
export function runSimpleCommand(node: Command, worlds: readonly World[], stdin: Stream, walk: Walk): Outcome {
  const after: Array<readonly World[]> = [];
  const failed: Array<readonly World[]> = [];
  let output: Stream | undefined;
  for (const world of worlds.flatMap((each) => forkOnDefaults(node, each))) {
    const outcome = spend(walk, node.pos)
      ? runIn(node, world, stdin, walk)
      : { worlds: [world], output: UNKNOWN_STREAM };
    after.push(outcome.worlds);
    failed.push(outcome.failed ?? []);
    output = output === undefined || output.text === outcome.output.text ? outcome.output : UNKNOWN_STREAM;
  }
  return { worlds: uniteWorlds(...after), failed: uniteWorlds(...failed), output: output ?? SILENT };
}

function runIn(node: Command, world: World, stdin: Stream, walk: Walk): Outcome {
  const assignments = node.prefix
    .filter((each) => each.type === 'Assignment')
    .map((each) => assigned(each, world, walk));
  const words =
    node.name === undefined
      ? []
      : [...expandWord(node.name, world, walk), ...node.args.flatMap((each) => argument(each, world, walk))];
  const by = basenameOf(words[0]?.template ?? '');
  const redirected = readRedirections(node.redirects, [world], stdin, by, walk);
  if (words.length === 0)
    return { worlds: [assignAll(world, assignments)], output: redirected.stdoutTo ? SILENT : redirected.stdin };
  const outcome = openCommand(
    {
      words,
      assignments,
      world: assignAll(world, assignments),
      stdin: redirected.stdin,
      source: walk.source.slice(node.pos, node.end),
      position: node.pos,
    },
    walk,
  );
  const restored =
    assignments.length === 0 ? outcome.worlds : outcome.worlds.map((each) => restore(each, world, assignments));
  if (redirected.stdoutTo === null) return { ...outcome, worlds: restored };
  const target = redirected.stdoutTo;
  const path = fileKey(target.template, world);
  const written = outcome.output.text;
  return {
    ...outcome,
    worlds: restored.map((each) => ({
      ...each,
      files: new Map(each.files).set(path, (each.files.get(path) ?? '') + written),
    })),
    output: SILENT,
  };
}

function argument(each: Word | Assignment, world: World, walk: Walk): ShellWord[] {
  if (each.type === 'Word') return expandWord(each, world, walk);
  const value = assigned(each, world, walk);
  return [{ ...wordOf(`${value.name}=${value.words.map((word) => word.template).join(' ')}`, each.text) }];
}

function assigned(node: Assignment, world: World, walk: Walk): Assigned {
  const value = node.value;
  // Its subscript is evaluated, and may hold substitutions: `a[$(x)]=1`.
  if (node.index !== undefined) readSubstitutions(node.index, world, walk);
  const words =
    value.type === 'ArrayValue'
      ? value.elements.flatMap((element) => expandWord(element, world, walk)).map(({ template }) => ({ template }))
      : [expandToValue(value, world, walk)];
  if (node.index !== undefined) return { name: node.name, words: [{ template: UNKNOWN }] };
  if (node.append !== true) return { name: node.name, words };
  const before = world.variables.get(node.name);
  if (value.type === 'ArrayValue') return { name: node.name, words: [...(before ?? []), ...words] };
  const head = before === undefined ? UNKNOWN : (before[0]?.template ?? '');
  return { name: node.name, words: [{ template: head + (words[0]?.template ?? '') }] };
}

function assignAll(world: World, assignments: readonly Assigned[]): World {
  return assignments.reduce((each, { name, words }) => withVariable(each, name, words), world);
}

/** `x=1 command`: the assignment ends with the command. */
function restore(after: World, before: World, assignments: readonly Assigned[]): World {
  return assignments.reduce((each, { name }) => withVariable(each, name, before.variables.get(name)), after);
}

/** `${X:-default}` of a variable that is not known: it may be empty and it may be anything. */
function forkOnDefaults(node: Command, world: World): World[] {
  const names = new Set<string>();
  const look = (parts: readonly WordPart[] | undefined): void => {
    for (const part of parts ?? []) {
      if (part.type === 'ParameterExpansion' && isDefault(part) && !world.variables.has(part.parameter))
        names.add(part.parameter);
      else if (part.type === 'DoubleQuoted') look(part.parts);
    }
  };
  if (!node.name?.text.includes('${') && !node.suffix.some(mayHaveDefault) && !node.prefix.some(mayHaveDefault))
    return [world];
  for (const each of [node.name, ...node.suffix, ...node.prefix]) {
    if (each?.type === 'Word') look(each.parts);
    else if (each?.type === 'Assignment' && each.value.type === 'Word') look(each.value.parts);
    else if (each?.type === 'Redirect' || each?.type === 'HereString') look(each.target?.parts);
  }
  return [...names]
    .slice(0, 3)
    .reduce<World[]>(
      (forks, name) =>
        forks.flatMap((fork) => [withVariable(fork, name, EMPTY), withVariable(fork, name, [{ template: UNKNOWN }])]),
      [world],
    );
}

const EMPTY: readonly ValueWord[] = [{ template: '' }];

function mayHaveDefault(each: Command['suffix'][number] | Command['prefix'][number]): boolean {
  if (each.type === 'Word' || each.type === 'Assignment') return each.text.includes('${');
  return (each.type === 'Redirect' || each.type === 'HereString') && each.target?.text.includes('${') === true;
}

function isDefault(part: ParameterExpansionPart): boolean {
  return part.operation?.type === 'Default' && /^[A-Za-z_]\w*$/.test(part.parameter);
}
