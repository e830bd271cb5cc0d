import { isStandardInput } from '../program-words.ts';
import { UNKNOWN } from '../shell-reading.ts';
import { type Call, fileKey, inside, NO_INPUT, reportCall, type ShellContext, withVariable } from '../shell-state.ts';

/** Variables that a shell runs, expands or reads as a file by itself: at its start, for a prompt, for a trace. */
const BY_ITSELF = ['PROMPT_COMMAND', 'BASH_ENV', 'ENV', 'PS0', 'PS1', 'PS2', 'PS4'];
/** Builtins that evaluate the subscript of a name: `let 'a[$(x)]=1'`. */
const EVALUATES = new Set('let declare typeset local export readonly read printf unset test [ mapfile wait'.split(' '));

/** Follows code that a shell runs implicitly with this command: texts in variables and in subscripts. */
export function runLater(call: Call, name: string, context: ShellContext): void {
  const { variables, files } = call.state;
  const subscripts = EVALUATES.has(name) ? call.words.filter(({ template }) => template.includes('[')) : [];
  const set = BY_ITSELF.filter((variable) => variables.has(variable));
  const texts = set.flatMap((variable) => {
    const text = variables.get(variable)?.[0]?.template ?? '';
    if (text.includes(UNKNOWN) && /_/.test(variable)) reportCall(context, 'dynamic-piped-to-shell', call);
    if (variable === 'PROMPT_COMMAND') return text;
    return (isStandardInput(text) ? call.stdin.text : files.get(fileKey(text, call.state))) ?? expansionOf(text);
  });
  const state = set.reduce((each, variable) => withVariable(each, variable, undefined), call.state);
  for (const text of [...texts, ...subscripts.flatMap(({ template }) => expansionOf(template))])
    context.interpret(text, [state], NO_INPUT, inside(context, call, name));
}

/** Returns a command that only expands the substitutions of a text. */
function expansionOf(text: string): string[] {
  return /\$\(|`/.test(text) ? [`: <<E\n${text}\nE`] : [];
}
