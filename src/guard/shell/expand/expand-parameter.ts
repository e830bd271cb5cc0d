import type * as Shell from '../../../text/shell/parse-shell.ts';
import { matchesGlob } from '../glob.ts';
import { UNKNOWN } from '../shell-reading.ts';
import type { ShellContext, ShellState, ValueWord } from '../shell-state.ts';

const NOT_KNOWN: readonly ValueWord[] = [{ template: UNKNOWN }];

/** Returns the values of `$x` and `${x…}`; UNKNOWN for those known only at run time. */
export function expandParameter(
  part: Shell.SimpleExpansionPart | Shell.ParameterExpansionPart,
  state: ShellState,
  context: ShellContext,
  operand: (word: Shell.Word) => string,
): readonly ValueWord[] {
  if (part.type === 'SimpleExpansion')
    return valuesOf(part.text.replace(/^\$(\\\n)*/, ''), state, context) ?? NOT_KNOWN;
  if (part.index?.parts !== undefined) operand(part.index);
  const index = part.index === undefined ? undefined : part.index.value;
  let values = valuesOf(part.parameter, state, context);
  if (part.prefix === '!') {
    const name = values?.length === 1 ? values[0]?.template : undefined;
    values = name === undefined || name.includes(UNKNOWN) ? undefined : valuesOf(name, state, context);
  } else if (part.prefix === '#') {
    const length = values?.length === 1 ? values[0]?.template : undefined;
    return length === undefined || length.includes(UNKNOWN) ? NOT_KNOWN : [{ template: String(length.length) }];
  }
  if (values !== undefined && index !== undefined && index !== '@' && index !== '*') {
    const chosen =
      values.findLast(({ key }) => key === index) ?? (/^\d+$/.test(index) ? values[Number(index)] : undefined);
    values = chosen === undefined ? undefined : [chosen];
  } else if (values !== undefined && index === undefined && part.parameter !== '@' && part.parameter !== '*') {
    values = values.slice(0, 1);
  }
  if (part.operation === undefined) return values ?? NOT_KNOWN;
  const isList = [part.parameter, index].some((each) => each === '@' || each === '*');
  if (isList && part.operation.type === 'Slice') {
    const from = index === undefined ? 1 : 0;
    return values === undefined ? NOT_KNOWN : sliced(values, part.operation, from, operand);
  }
  return operate(part.operation, values, operand);
}

/** Returns the words of a slice such as `${@:2}` or `${a[@]:1:2}`. `base`: number of the first word. */
function sliced(
  values: readonly ValueWord[],
  { offset, length }: Extract<Shell.ParameterOperation, { type: 'Slice' }>,
  base: number,
  operand: (word: Shell.Word) => string,
): readonly ValueWord[] {
  const from = Number(operand(offset).trim());
  const count = length === undefined ? values.length : Number(operand(length).trim());
  if (!Number.isInteger(from) || from < base || !Number.isInteger(count) || count < 0) return NOT_KNOWN;
  return values.slice(from - base, from - base + count);
}

/** Returns the values of a variable; undefined if they are unknown and the command does not set it. */
export function valuesOf(name: string, state: ShellState, context: ShellContext): readonly ValueWord[] | undefined {
  if (name === '@' || name === '*') return state.positional ?? undefined;
  // The number of a process is not part of a command or name that a rule could mean.
  if (name === '!' || name === '$') return [{ template: 'PID' }];
  if (/^[1-9]\d*$/.test(name)) {
    if (state.positional === null) return undefined;
    const value = state.positional[Number(name) - 1];
    return value === undefined ? [] : [value];
  }
  const own = state.variables.get(name);
  const assigned = state.variables.get(own?.[0]?.reference ?? name) ?? own;
  if (assigned !== undefined) return assigned;
  if (name === 'PWD') return [{ template: state.cwd }];
  if (name === 'OLDPWD') return [{ template: state.previous }];
  if (name === 'HOME') return [{ template: context.options.home }];
  if (name === 'IFS') return [{ template: ' \t\n' }];
  const known = context.options.variables;
  return known !== undefined && Object.hasOwn(known, name) ? [{ template: known[name] ?? '' }] : undefined;
}

function operate(
  operation: Shell.ParameterOperation,
  values: readonly ValueWord[] | undefined,
  operand: (word: Shell.Word) => string,
): readonly ValueWord[] {
  if (operation.type === 'Default') {
    const other = operand(operation.operand);
    const empty = operation.operator.startsWith(':') && values?.every((value) => value.template === '');
    const missing = values === undefined || values.length === 0;
    if (operation.operator.endsWith('+')) return missing ? NOT_KNOWN : empty ? [] : [{ template: other }];
    if (values === undefined || operation.operator.endsWith('?')) return values ?? NOT_KNOWN;
    return missing || empty ? [{ template: other }] : values;
  }
  // Evaluated in any case: the operands may contain substitutions, which run whatever the value is.
  const change = changeOf(operation, operand);
  if (change === null || values === undefined || values.some((value) => value.template.includes(UNKNOWN)))
    return NOT_KNOWN;
  return values.map((value) => ({ template: change(value.template) }));
}

function changeOf(
  operation: Shell.ParameterOperation,
  operand: (word: Shell.Word) => string,
): ((text: string) => string) | null {
  switch (operation.type) {
    case 'Remove': {
      const pattern = operand(operation.operand);
      if (pattern.includes(UNKNOWN)) return null;
      return (text) => removed(text, pattern, operation.operator);
    }
    case 'Replace': {
      const pattern = operand(operation.pattern);
      const replacement = operand(operation.replacement);
      if (/[\0*?[\\]/.test(pattern) || replacement.includes(UNKNOWN)) return null;
      if (operation.operator === '//') return (text) => text.replaceAll(pattern, () => replacement);
      if (operation.operator === '/#')
        return (text) => (text.startsWith(pattern) ? replacement + text.slice(pattern.length) : text);
      if (operation.operator === '/%')
        return (text) => (text.endsWith(pattern) ? text.slice(0, text.length - pattern.length) + replacement : text);
      return (text) => text.replace(pattern, () => replacement);
    }
    case 'Slice': {
      const offset = Number(operand(operation.offset).trim());
      const length = operation.length === undefined ? undefined : Number(operand(operation.length).trim());
      if (!Number.isInteger(offset) || (length !== undefined && !Number.isInteger(length))) return null;
      return (text) => {
        const from = offset < 0 ? text.length + offset : offset;
        if (length === undefined) return text.slice(from);
        return length < 0 ? text.slice(from, text.length + length) : text.slice(from, from + length);
      };
    }
    case 'CaseModification': {
      const { operator } = operation;
      if (operation.operand !== undefined) return null;
      if (operator === '^^') return (text) => text.toUpperCase();
      if (operator === ',,') return (text) => text.toLowerCase();
      if (operator === '^') return (text) => text.charAt(0).toUpperCase() + text.slice(1);
      return (text) => text.charAt(0).toLowerCase() + text.slice(1);
    }
    case 'Transform': {
      const how = operation.operand.value;
      if (how === 'U') return (text) => text.toUpperCase();
      if (how === 'L') return (text) => text.toLowerCase();
      return /^[EP]$/.test(how) ? (text) => (/[\\$`]/.test(text) ? UNKNOWN : text) : null;
    }
    case 'Default':
    case 'Names':
    case 'Unknown':
      return null;
    default:
      return operation satisfies never;
  }
}

function removed(text: string, pattern: string, operator: '#' | '##' | '%' | '%%'): string {
  if (text.length > 4096) return UNKNOWN;
  const lengths = Array.from({ length: text.length + 1 }, (_, index) => index);
  if (operator === '##' || operator === '%%') lengths.reverse();
  for (const length of lengths) {
    const atStart = operator.startsWith('#');
    const piece = atStart ? text.slice(0, length) : text.slice(text.length - length);
    if (matchesGlob(pattern, piece)) return atStart ? text.slice(length) : text.slice(0, text.length - length);
  }
  return text;
}
