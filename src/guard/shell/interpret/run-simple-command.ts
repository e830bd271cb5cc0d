import type * as Shell from '../../../text/shell/parse-shell.ts';
import { valuesOf } from '../expand/expand-parameter.ts';
import { expandToText, expandToValue, expandWord, readSubstitutions } from '../expand/expand-word.ts';
import { recordRead, recordWrite } from '../file-access/file-access-rule.ts';
import { type ShellWord, UNKNOWN } from '../shell-reading.ts';
import type { Assigned, Outcome, ShellContext, ShellState, States, Stream, ValueWord } from '../shell-state.ts';
import {
  fileKey,
  inputFrom,
  joinStates,
  listKey,
  SILENT,
  spend,
  temporaryPath,
  UNKNOWN_STREAM,
  withVariable,
} from '../shell-state.ts';
import { asValue, basenameOf, STDIN, wordOf } from '../words.ts';
import { openCommand } from './open-command.ts';

/** Expands one simple command in every possible state, and follows what it starts. */
export function runSimpleCommand(node: Shell.Command, states: States, stdin: Stream, context: ShellContext): Outcome {
  const after: States[] = [];
  const failed: States[] = [];
  let output: Stream | undefined;
  for (const state of states.flatMap((each) => forkOnDefaults(node, each, context))) {
    const outcome = spend(context, node.pos)
      ? runIn(node, state, stdin, context)
      : { states: [state], output: UNKNOWN_STREAM };
    after.push(outcome.states);
    failed.push(outcome.failed ?? []);
    output = output === undefined || output.text === outcome.output.text ? outcome.output : UNKNOWN_STREAM;
  }
  return { states: joinStates(...after), failed: joinStates(...failed), output: output ?? SILENT };
}

function runIn(node: Shell.Command, state: ShellState, stdin: Stream, context: ShellContext): Outcome {
  const assignments = node.prefix
    .filter((each) => each.type === 'Assignment')
    .map((each) => assigned(each, state, context));
  const words =
    node.name === undefined
      ? []
      : [...expandWord(node.name, state, context), ...node.args.flatMap((each) => argument(each, state, context))];
  const by = basenameOf(words[0]?.template ?? '');
  const redirected = readRedirections(node.redirects, [state], stdin, by, context);
  if (words.length === 0) {
    context.facts.assigned.push(
      ...assignments.map(({ name, words: values }) => `${name}=${values[0]?.template ?? ''}`),
    );
    return { states: [assignAll(state, assignments)], output: redirected.stdoutTo ? SILENT : redirected.stdin };
  }
  // For example `declare -a x=(1)`.
  const arrays = node.args.filter(isArray).map((each) => assigned(each, state, context));
  const outcome = openCommand(
    {
      words,
      assignments,
      state: assignAll(state, [...assignments, ...arrays]),
      stdin: redirected.stdin,
      source: context.source.slice(node.pos, node.end),
      position: node.pos,
    },
    redirected.away ? { ...context, away: true } : context,
  );
  if (redirected.away && by === 'exec' && words.length === 1) context.facts.away = true;
  // `x=1 command`: the assignment ends with the command.
  const restored = outcome.states.map((after) =>
    assignments.reduce((each, { name }) => withVariable(each, name, state.variables.get(name)), after),
  );
  if (redirected.stdoutTo === null) return { ...outcome, states: restored };
  const path = fileKey(redirected.stdoutTo.template, state);
  const filesOf = ({ files }: ShellState): ShellState['files'] =>
    new Map(files).set(path, (files.get(path) ?? '') + outcome.output.text);
  const { under } = outcome.output;
  const states = restored.map((each) => {
    const written = { ...each, files: filesOf(each) };
    return under === undefined ? written : withVariable(written, listKey(path), [{ template: UNKNOWN, under }]);
  });
  return { ...outcome, states, output: SILENT };
}

function isArray(each: Shell.Word | Shell.Assignment): each is Shell.Assignment & { value: Shell.ArrayValue } {
  return each.type === 'Assignment' && each.value.type === 'ArrayValue';
}

function argument(each: Shell.Word | Shell.Assignment, state: ShellState, context: ShellContext): ShellWord[] {
  if (each.type === 'Word') return expandWord(each, state, context);
  if (isArray(each)) return [];
  const { name, words } = assigned(each, state, context);
  return [wordOf(`${name}=${words.map(({ template }) => template).join(' ')}`, each.text)];
}

function assigned(node: Shell.Assignment, state: ShellState, context: ShellContext): Assigned {
  const value = node.value;
  // Its subscript is evaluated, and may contain substitutions: `a[$(x)]=1`.
  if (node.index !== undefined) readSubstitutions(node.index, state, context);
  const words =
    value.type === 'ArrayValue'
      ? value.elements.flatMap((element) => expandWord(element, state, context)).map(keyed)
      : [expandToValue(value, state, context)];
  const before = state.variables.get(node.name);
  if (node.index !== undefined) {
    const at = /^\d{1,3}$/.test(node.index.value) && node.append !== true ? Number(node.index.value) : Number.NaN;
    // Follows elements set in order, and those of an associative array with a literal key.
    const isNext = at <= (before ?? []).length && before?.some(({ template }) => template === UNKNOWN) !== true;
    const { value: key } = node.index;
    if (Number.isNaN(at) && node.append !== true && !/[$`]/.test(key))
      return { name: node.name, words: [...(before ?? []), ...words.map((word) => ({ ...word, key }))] };
    return { name: node.name, words: isNext ? (before ?? []).toSpliced(at, 1, ...words) : [{ template: UNKNOWN }] };
  }
  if (node.append !== true) return { name: node.name, words };
  if (value.type === 'ArrayValue') return { name: node.name, words: [...(before ?? []), ...words] };
  const head = before === undefined ? UNKNOWN : (before[0]?.template ?? '');
  return { name: node.name, words: [{ template: head + (words[0]?.template ?? '') }] };
}

/** Parses `[key]=value`, an element of an array. */
function keyed(word: ShellWord): ValueWord {
  const [, key, template] = /^\[([^\]]+)\]=(.*)$/s.exec(word.template) ?? [];
  return key === undefined || template === undefined ? asValue(word) : { template, key };
}

function assignAll(state: ShellState, assignments: readonly Assigned[]): ShellState {
  return assignments.reduce((each, { name, words }) => withVariable(each, name, words), state);
}

/** Returns both states for a `${X:-default}` of an unknown variable: empty, and any value. */
function forkOnDefaults(node: Shell.Command, state: ShellState, context: ShellContext): ShellState[] {
  const names = new Set<string>();
  const look = (parts: readonly Shell.WordPart[] | undefined): void => {
    for (const part of parts ?? []) {
      if (part.type === 'DoubleQuoted') look(part.parts);
      if (part.type !== 'ParameterExpansion' || part.operation?.type !== 'Default') continue;
      const isUnset = valuesOf(part.parameter, state, context) === undefined;
      if (isUnset && /^[A-Za-z_]\w*$/.test(part.parameter)) names.add(part.parameter);
    }
  };
  if (!context.source.slice(node.pos, node.end).includes('${')) return [state];
  for (const each of [node.name, ...node.suffix, ...node.prefix]) {
    if (each?.type === 'Word') look(each.parts);
    else if (each?.type === 'Assignment' && each.value.type === 'Word') look(each.value.parts);
    else if (each?.type === 'Redirect' || each?.type === 'HereString') look(each.target?.parts);
  }
  return [...names]
    .slice(0, 3)
    .reduce<ShellState[]>(
      (forks, name) =>
        forks.flatMap((fork) => [
          withVariable(fork, name, [{ template: '' }]),
          withVariable(fork, name, [{ template: name === 'TMPDIR' ? temporaryPath(node.pos, context) : UNKNOWN }]),
        ]),
      [state],
    );
}

const SCREEN = /^\/dev\/(null|tty|stdout|stderr|fd\/[12])$/;

/**
 * Records the files that redirections read and write. Returns the resulting standard input; the file of standard output,
 * or null; and in `away` whether output goes to a file or to a descriptor that is not followed.
 */
export function readRedirections(
  redirects: readonly Shell.Redirection[],
  states: States,
  stdin: Stream,
  by: string,
  context: ShellContext,
): { readonly stdin: Stream; readonly stdoutTo: ShellWord | null; readonly away: boolean } {
  let input = stdin;
  let stdoutTo: ShellWord | null = null;
  let away = false;
  for (const state of states) {
    for (const redirect of redirects) {
      const given = redirect.descriptor;
      const descriptor = given === undefined ? 1 : given.type === 'FileDescriptor' ? given.value : given.name;
      if (redirect.type === 'HereDoc') {
        const { body, delimiter } = redirect;
        const live = delimiter?.quoted !== true && /[`$\\]/.test(body.text);
        const text = live && body.parts !== undefined ? expandToText(body.parts, state, context) : body.text;
        input = { kind: 'literal', text };
        continue;
      }
      if (redirect.target === undefined) continue;
      if (redirect.type === 'HereString') {
        const value = expandToValue(redirect.target, state, context);
        input = { kind: 'literal', text: `${value.template}\n`, ...(value.under ? { under: value.under } : {}) };
        continue;
      }
      const duplicates = redirect.operator === '<&' || redirect.operator === '>&';
      for (const word of expandWord(redirect.target, state, context)) {
        if (duplicates && /^(\d+-?|-)$/.test(word.template)) {
          // Other descriptors are not followed.
          if (redirect.operator === '>&' && /^[3-9]|^\d\d/.test(word.template)) away = true;
          if (redirect.operator === '<&' && /^[1-9]/.test(word.template)) input = UNKNOWN_STREAM;
          continue;
        }
        // The same input as before.
        if (/^<[>&]?$/.test(redirect.operator) && STDIN.test(word.template)) continue;
        if (redirect.operator === '<' || redirect.operator === '<>' || redirect.operator === '<&') {
          input = inputFrom(word, state);
          recordRead({ word, state, by: by === '' ? '<' : by }, context, redirect.pos);
        }
        if (redirect.operator === '<' || redirect.operator === '<&') continue;
        if (descriptor === 1) stdoutTo = word;
        if (descriptor === 1 && !(word.template.startsWith('/dev/') && SCREEN.test(word.template))) away = true;
        if (word.content === undefined) recordWrite({ word, state, by, how: 'redirect' }, context, redirect.pos);
      }
    }
  }
  return { stdin: input, stdoutTo, away };
}
