import type * as Shell from '../../../text/shell/parse-shell.ts';
import { hasParseErrors, MAX_SHELL_TEXT, parseShell } from '../../../text/shell/parse-shell.ts';
import { expandWord, readSubstitutions } from '../expand/expand-word.ts';
import { UNKNOWN } from '../shell-reading.ts';
import type { Code, Outcome, ShellContext, ShellState, States, Stream, ValueWord } from '../shell-state.ts';
import { isSpent, joinStates, report, SILENT, spend, UNKNOWN_STREAM, withVariable } from '../shell-state.ts';
import { asValue } from '../words.ts';
import { readRedirections, runSimpleCommand } from './run-simple-command.ts';

type Node = Shell.PipelineNode | Shell.AndOr | Shell.CompoundList;

const MAX_ITEMS = 64;

/** Maximum nesting of strings, functions and substitutions. */
const MAX_DEPTH = 24;

/** Interprets code in every possible initial state; returns its output and the possible final states. */
export function interpret(code: Code, states: States, stdin: Stream, context: ShellContext): Outcome {
  if (typeof code === 'string') return interpretText(code, states, stdin, context);
  return code.type === 'Script'
    ? interpretScript(code, states, stdin, context)
    : interpretNode(code, states, stdin, context);
}

function interpretScript(script: Shell.ParsedScript, states: States, stdin: Stream, context: ShellContext): Outcome {
  const inner =
    script.source === undefined
      ? context
      : { ...context, source: script.source, position: context.position ?? script.pos };
  if (hasParseErrors(script))
    report(inner, 'parse-error', inner.source.slice(script.pos, script.end), script.pos, states[0]?.cwd ?? null);
  if (context.depth >= MAX_DEPTH) {
    report(inner, 'too-deep', inner.source, script.pos, null);
    return { states, output: SILENT };
  }
  return interpretStatements(script.commands, states, stdin, { ...inner, depth: context.depth + 1 });
}

/** Interprets a text that a shell runs (`bash -c`, `eval`, a heredoc to a shell). */
function interpretText(text: string, states: States, stdin: Stream, context: ShellContext): Outcome {
  if (text.trim() === UNKNOWN) return { states, output: UNKNOWN_STREAM };
  const inner = { ...context, source: text, position: context.position ?? 0 };
  if (text.length > MAX_SHELL_TEXT) {
    report(inner, 'too-large', text, 0, null);
    return { states, output: SILENT };
  }
  return interpretScript(parseShell(text), states, stdin, inner);
}

function interpretStatements(
  list: readonly Shell.Statement[],
  states: States,
  stdin: Stream,
  context: ShellContext,
): Outcome {
  let last: Pick<Outcome, 'states' | 'failed'> = { states };
  let output = SILENT;
  for (const statement of list) {
    if (isSpent(context)) break;
    const start = ended(last);
    const outcome = interpretNode(statement.command, start, stdin, context);
    output = appended(output, outcome.output);
    last = statement.background === true ? { states: start } : outcome;
  }
  return { ...last, output };
}

function interpretNode(node: Node, states: States, stdin: Stream, outer: ShellContext): Outcome {
  // Substitutions in its words have the same input.
  const context = outer.stdin === stdin ? outer : { ...outer, stdin };
  if (!spend(context, node.pos)) return { states, output: UNKNOWN_STREAM };
  switch (node.type) {
    case 'Command':
      return runSimpleCommand(node, states, stdin, context);
    case 'Pipeline':
      return interpretPipeline(node, states, stdin, context);
    case 'AndOr':
      return interpretAndOr(node, states, stdin, context);
    case 'CompoundList':
      return interpretStatements(node.commands, states, stdin, context);
    case 'BraceGroup':
      return interpretStatements(node.body.commands, states, stdin, context);
    case 'Subshell':
      return { states, output: interpretStatements(node.body.commands, states, stdin, context).output };
    case 'Coproc':
      if (node.name !== undefined) context.facts.assigned.push(`${node.name.value}=${UNKNOWN}`);
      return { states, output: interpretNode(node.body, states, stdin, context).output };
    case 'Redirected': {
      const read = readRedirections(node.redirects, states, stdin, '', context);
      const inner = read.away ? { ...context, away: true as const } : context;
      const { failed = [], ...outcome } = interpretNode(node.command, states, read.stdin, inner);
      const output = read.stdoutTo === null ? outcome.output : SILENT;
      // It does not run if a redirection fails.
      return { ...outcome, failed: joinStates(failed, states), output };
    }
    case 'If':
      return interpretIf(node, states, stdin, context);
    case 'For':
    case 'Select':
      return interpretFor(node, states, stdin, context);
    case 'ArithmeticFor':
    case 'While': {
      if (node.type === 'ArithmeticFor') {
        for (const part of [node.initialize, node.test, node.update])
          if (part && states[0]) readSubstitutions(part, states[0], context);
      }
      // `until` runs the body if the condition fails.
      const begin = node.type === 'While' ? ended(interpretNode(node.clause, states, stdin, context)) : states;
      const body = interpretNode(node.body, begin, stdin, context);
      return { states: joinStates(states, begin, ended(body)), output: appended(body.output, UNKNOWN_STREAM) };
    }
    case 'Case':
      return interpretCase(node, states, stdin, context);
    case 'Function': {
      const body = { kind: 'function', node: node.body, source: context.source } as const;
      return {
        states: states.map((state) => ({ ...state, functions: new Map(state.functions).set(node.name.value, body) })),
        output: SILENT,
      };
    }
    case 'TestCommand':
    case 'ArithmeticCommand':
      if (node.type === 'ArithmeticCommand')
        for (const [, name] of node.body.matchAll(/\b([A-Za-z_]\w*)\s*(?:[-+*/%&|^<>]{0,2}=(?!=)|\+\+|--)/g))
          context.facts.assigned.push(`${name}=${UNKNOWN}`);
      for (const state of states) readSubstitutions(node, state, context);
      return { states, output: SILENT };
    default:
      return node satisfies never;
  }
}

function interpretPipeline(node: Shell.Pipeline, states: States, stdin: Stream, context: ShellContext): Outcome {
  const only: Shell.CommandNode | undefined = node.commands.length === 1 ? node.commands[0] : undefined;
  if (only !== undefined) {
    const outcome = interpretNode(only, states, stdin, context);
    const isNegated = node.prefixes.some(({ type }) => type === 'Negation');
    return isNegated ? { ...outcome, states: ended(outcome), failed: ended(outcome) } : outcome;
  }
  const { facts } = context;
  const outer = facts.element;
  const elements: Array<typeof outer> = [];
  const written: ShellState[] = [];
  let last = states;
  let stream = stdin;
  for (const command of node.commands) {
    facts.element = [];
    // Each element runs in its own shell.
    const outcome = interpretNode(command, states, stream, context);
    stream = { ...outcome.output, kind: 'pipe' };
    elements.push(facts.element);
    last = ended(outcome);
    written.push(...last);
  }
  for (const element of elements) for (const command of element) outer.push(command);
  facts.element = outer;
  facts.pipelines.push(elements);
  // zsh, and bash with lastpipe, run the last element themselves.
  return { states: joinStates(withFilesOf(written, states), last), output: stream };
}

/** Returns the states with the files that a subshell wrote, which are its only lasting effect. */
function withFilesOf(written: States, states: States): States {
  const isNew = ([path, text]: [string, string]): boolean => !states.some((state) => state.files.get(path) === text);
  const files = new Map(written.flatMap((state) => [...state.files].filter(isNew)));
  return files.size === 0 ? states : states.map((state) => ({ ...state, files: new Map([...state.files, ...files]) }));
}

/** Returns the states in which code may have ended, whether it succeeded or not. */
function ended({ states, failed = [] }: Pick<Outcome, 'states' | 'failed'>): States {
  return failed.length === 0 ? states : joinStates(states, failed);
}

function interpretAndOr(node: Shell.AndOr, states: States, stdin: Stream, context: ShellContext): Outcome {
  const [first, ...others] = node.commands;
  if (first === undefined) return { states, output: SILENT };
  let last = interpretNode(first, states, stdin, context);
  let failed = last.failed ?? [];
  let output = last.output;
  let isSure = surelySucceeds(first);
  others.forEach((command, index) => {
    if (node.operators[index] === '&&') {
      if (!isSure) failed = joinStates(failed, last.states);
      last = interpretNode(command, last.states, stdin, context);
      isSure &&= surelySucceeds(command);
      failed = joinStates(failed, last.failed ?? []);
    } else {
      const left = last;
      last = interpretNode(command, joinStates(left.states, failed), stdin, context);
      isSure = false;
      // `cd x || exit`: the following commands run only if the left side succeeded. `return` may have no effect.
      const isDefined = failed.some(({ functions }) => functions.has('exit'));
      const leaves = command.type === 'Command' && command.name?.value === 'exit' && !isDefined;
      last = leaves
        ? { states: left.states, output: last.output }
        : { ...last, states: joinStates(left.states, last.states) };
      failed = last.failed ?? [];
    }
    output = appended(output, last.output);
  });
  return { states: last.states, failed, output };
}

/** Returns whether a command has no failure that is missing in its outcome, which contains only that of a `cd`. */
function surelySucceeds(node: Node): boolean {
  return node.type === 'Command' && node.redirects.length === 0 && /^(?:cd|pushd)$/.test(node.name?.value ?? '');
}

function interpretIf(node: Shell.If, states: States, stdin: Stream, context: ShellContext): Outcome {
  let clause = interpretNode(node.clause, states, stdin, context);
  const then = interpretNode(node.then, clause.states, stdin, context);
  const groups: States[] = [ended(then)];
  let output = then.output;
  for (const elif of node.elif) {
    clause = interpretNode(elif.clause, ended(clause), stdin, context);
    const branch = interpretNode(elif.then, clause.states, stdin, context);
    groups.push(ended(branch));
    output = either(output, branch.output);
  }
  const start = ended(clause);
  const last =
    node.else === undefined ? { states: start, output: SILENT } : interpretNode(node.else, start, stdin, context);
  return { states: joinStates(...groups, ended(last)), output: either(output, last.output) };
}

function interpretFor(node: Shell.For | Shell.Select, states: States, stdin: Stream, context: ShellContext): Outcome {
  const results: States[] = [states];
  let output = SILENT;
  for (const state of states) {
    let current: States = [state];
    for (const item of itemsOf(node, state, context)) {
      if (isSpent(context)) break;
      context.facts.assigned.push(`${node.name.value}=${item.template}`);
      const outcome = interpretNode(
        node.body,
        current.map((each) => withVariable(each, node.name.value, [item])),
        stdin,
        context,
      );
      current = ended(outcome);
      output = appended(output, outcome.output);
    }
    results.push(current);
  }
  return { states: joinStates(...results), output: states.length > 1 ? UNKNOWN_STREAM : output };
}

function itemsOf(node: Shell.For | Shell.Select, state: ShellState, context: ShellContext): readonly ValueWord[] {
  if (node.wordlist === undefined) return state.positional ?? [{ template: UNKNOWN }];
  const words = node.wordlist.flatMap((word) => expandWord(word, state, context));
  if (words.length > MAX_ITEMS) return [{ template: UNKNOWN }];
  return words.map(asValue);
}

function interpretCase(node: Shell.Case, states: States, stdin: Stream, context: ShellContext): Outcome {
  for (const state of states) expandWord(node.word, state, context);
  const groups: States[] = [states];
  let output = SILENT;
  for (const item of node.items) {
    for (const state of states) for (const pattern of item.pattern) readSubstitutions(pattern, state, context);
    const outcome = interpretNode(item.body, states, stdin, context);
    groups.push(ended(outcome));
    output = either(output, outcome.output);
  }
  return { states: joinStates(...groups), output };
}

function appended(first: Stream, second: Stream): Stream {
  if (first.text === '' && first.under === undefined) return second;
  if (second.text === '' && second.under === undefined) return first;
  const under = first.under ?? second.under;
  return { kind: 'literal', text: first.text + second.text, ...(under === undefined ? {} : { under }) };
}

function either(first: Stream, second: Stream): Stream {
  if (first.text === second.text || second.text === '') return first;
  return first.text === '' ? second : UNKNOWN_STREAM;
}
