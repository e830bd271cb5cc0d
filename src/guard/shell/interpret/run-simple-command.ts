import type { Assignment, Command, ParameterExpansionPart, Redirection, Word, WordPart } from 'unbash';
import { expandToText, expandToValue, expandWord, readSubstitutions } from '../expand/expand-word.ts';
import { addRead, addWrite } from '../file-access/file-access-rule.ts';
import { basenameOf } from '../program-words.ts';
import { type ShellWord, UNKNOWN } from '../shell-reading.ts';
import {
  type Assigned,
  fileKey,
  type Outcome,
  SILENT,
  type Stream,
  spend,
  UNKNOWN_STREAM,
  uniteWorlds,
  type ValueWord,
  type Walk,
  type World,
  withVariable,
} from '../shell-state.ts';
import { wordOf } from '../words.ts';
import { openCommand } from './open-command.ts';

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

interface Redirected {
  readonly stdin: Stream;
  /** Where standard output goes; null when it is not sent to a file. */
  readonly stdoutTo: ShellWord | null;
}

/** Records what redirections write and read, and says what standard input is then. */
export function readRedirections(
  redirects: readonly Redirection[],
  worlds: readonly World[],
  stdin: Stream,
  by: string,
  walk: Walk,
): Redirected {
  let input = stdin;
  let stdoutTo: ShellWord | null = null;
  for (const world of worlds) {
    for (const redirect of redirects) {
      if (redirect.type === 'HereDoc') {
        const { body, delimiter } = redirect;
        const live = delimiter?.quoted !== true && /[`$\\]/.test(body.text);
        const text = live && body.parts !== undefined ? expandToText(body.parts, world, walk) : body.text;
        input = { kind: 'literal', text };
        continue;
      }
      if (redirect.target === undefined) continue;
      if (redirect.type === 'HereString') {
        const value = expandToValue(redirect.target, world, walk);
        input = { kind: 'literal', text: `${value.template}\n`, ...(value.under ? { under: value.under } : {}) };
        continue;
      }
      const duplicates = redirect.operator === '<&' || redirect.operator === '>&';
      for (const word of expandWord(redirect.target, world, walk)) {
        if (duplicates && /^(\d+-?|-)$/.test(word.template)) {
          // What another descriptor leads to is not followed.
          if (redirect.operator === '<&' && /^[1-9]/.test(word.template)) input = UNKNOWN_STREAM;
          continue;
        }
        if (redirect.operator === '<' || redirect.operator === '<>' || redirect.operator === '<&') {
          const known = word.content ?? fileContent(word, world);
          input = { kind: known === undefined ? 'file' : 'literal', text: known ?? '\0' };
          addRead({ word, world, by: by === '' ? '<' : by }, walk, redirect.pos);
        }
        if (redirect.operator === '<' || redirect.operator === '<&') continue;
        const descriptor = redirect.descriptor?.type === 'FileDescriptor' ? redirect.descriptor.value : 1;
        if (descriptor === 1) stdoutTo = word;
        if (word.content === undefined) addWrite({ word, world, by, how: 'redirect' }, walk, redirect.pos);
      }
    }
  }
  return { stdin: input, stdoutTo };
}

function fileContent(word: ShellWord, world: World): string | undefined {
  return world.files.get(fileKey(word.template, world));
}
