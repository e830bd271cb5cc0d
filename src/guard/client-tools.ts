import { resolve } from 'node:path';
import { shellWord } from '../text/quote.ts';
import type { ToolCall } from './guard.ts';

/**
 * Kinds of tools. shell, powershell: run a text. code: run code of another language. reads, changes: take paths. talks: take
 * texts for people and models, and touch no file by name. unknown: may write any text that looks like a path.
 */
type ToolClass = 'shell' | 'powershell' | 'code' | 'reads' | 'changes' | 'talks' | 'unknown';

const CLASSES: Readonly<Record<Exclude<ToolClass, 'unknown'>, string>> = {
  shell: 'Bash Monitor',
  powershell: 'PowerShell',
  code: 'Workflow',
  reads: 'Read NotebookRead Grep Glob LS LSP ReadMcpResourceTool WebFetch view_image',
  changes: 'Write Edit MultiEdit NotebookEdit apply_patch',
  talks:
    'Agent AskUserQuestion BashOutput CronCreate CronDelete CronList DeferredToolPlaceholder EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree KillShell ListAgents ListMcpResourcesTool PushNotification ReportFindings ScheduleWakeup SendMessage Skill StructuredOutput Task TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoRead TodoWrite ToolSearch WebSearch close_agent create_goal get_goal request_user_input spawn_agent update_goal update_plan web_search',
};

const KNOWN = Object.keys(CLASSES) as (keyof typeof CLASSES)[];

const READS = /^(read|get|list|search|find|view|stat|tree|info|glob|grep|describe|fetch|query|open|show|lookup)$/i;
/** Pattern for parts of a tool's name that mean more than reading. */
const WRITES =
  /^(and|or|then|write|edit|create|delete|move|remove|rename|copy|append|replace|insert|patch|update|save|store|put|apply|set|upload|download|export|import|sync|push|commit|clear|reset|run|exec|execute|add|make|new|install|publish|send|modify|change|convert|generate|format|fix|dump|extract|restore|merge|archive|open|to|into|out|output)$/i;
const REMOVES = /^(delete|move|remove|rename)$/i;

/** Returns the kind of a tool. An MCP tool only reads if its first word means reading and no other word means writing. */
export function classOf(tool: string): ToolClass {
  const known = tool.includes(' ') ? undefined : KNOWN.find((kind) => ` ${CLASSES[kind]} `.includes(` ${tool} `));
  if (known !== undefined || !tool.startsWith('mcp__')) return known ?? 'unknown';
  const [verb = '', ...rest] = wordsOf(tool);
  return READS.test(verb) && !rest.some((word) => WRITES.test(word)) ? 'reads' : 'unknown';
}

/** Returns whether a tool may change files: all may, except known readers. */
export function mayWrite(tool: string): boolean {
  return classOf(tool) !== 'reads';
}

/** Returns whether a tool removes its paths with everything below them. */
export function isRemoval(tool: string): boolean {
  return tool.startsWith('mcp__') && wordsOf(tool).some((word) => REMOVES.test(word));
}

function wordsOf(tool: string): string[] {
  return tool
    .replace(/^.*__/s, '')
    .replace(/([a-z])(?=[A-Z])/g, '$1_')
    .split(/[_\W]+/);
}

/**
 * Returns the commands that an MCP tool may stand for, by its name and its server's: `git push origin main` for
 * `mcp__git__push` and `mcp__x__git_push`, and for a GitHub server that pushes files. Empty for other tools.
 */
export function namedCommands({ tool, input }: ToolCall): string {
  if (!tool.startsWith('mcp__')) return '';
  const [, server = ''] = tool.replace(/[^\w.-]/g, '').split('__');
  const program = /(?<![a-z])git(?:hub|lab|ea)?(?![a-z])/i.test(server) ? 'git' : server;
  const { remote, branch }: Readonly<Record<string, unknown>> = Object(input);
  const given = [remote, branch].flatMap((each) => (typeof each === 'string' ? shellWord(each.slice(-300)) : []));
  const words = [wordsOf(tool).join(' ').toLowerCase(), ...given].join(' ');
  return `${program} ${words}\n${words}`;
}

export interface RunText {
  readonly kind: 'shell' | 'powershell' | 'code';
  readonly text: string;
  readonly cwd: string;
}

/** Pattern for keys of shell texts: `command`, `run_command`, `setupScripts`. */
const SHELL_KEY =
  /^(?!.*_(?:id|name|type|mode)$)(?:.*_)?(commands?|cmds?|(command|cmd)_?line|scripts?|shell|bash|sh|exec|execute|run|program|executable|binary|argv|entrypoint|stdin)(?=$|_)/i;
const CODE_KEY = /^(code|snippet|python|javascript|js|typescript|ruby|perl|eval|expression|function|source_?code)$/i;
const POWERSHELL_KEY = /^(powershell|pwsh|ps1?)(_?(command|script))?$/i;
/** Pattern for keys of a program if a list of its arguments is beside it. */
const PROGRAM_KEY = /^(file(_?name|_?path)?|exe|app|bin|process)$/i;
const ARGS_KEY = /^(args|arguments|argv|params|parameters)$/i;
const CWD_KEY = /^(cwd|workdir|working_?dir(ectory)?)$/i;
/** Keys of the client's own shell tool; `command` has the shell text. Most calls have only these and need no pattern. */
const SHELL_TOOL_KEYS = new Set(['command', 'description', 'timeout', 'run_in_background']);
/** Pattern for keys of text for people and models; only other texts are searched for single-word paths and for commands. */
export const PROSE_KEY =
  /^(prompt|question|content|contents|text|title|body|description|message|subject|summary|comment|header|labels?|thought|reason|notes?|observations?|markdown|html|query|regex|repl(acement)?|(new|old)_?(string|str|text|source))$/i;
/** Pattern for lines that read as commands: `rm F`, `!git push`, `* * * * * rm F`, `spawn rm F`. */
const COMMAND_LINE =
  /^[\s:\\!*\d/,@-]{0,40}(?:(?:spawn|shell|sudo|exec|system) )?((?:cd|rm|mv|cp|dd|tee|ln|shred|unlink|chmod|chown|sed|cat|git|node|npx|(?:ba|da|z)?sh|truncate -|echo [^\n]*>|printf [^\n]*>)[^\S\n].*\S)/gm;
/** Pattern for lines that occur only in text for people: a sentence, a list item, a heading, a quotation. */
const PROSE_LINE = /^\s{0,9}(?:[A-Z][a-z]+[ ,.:]|[-*>#|]+ (?![*\d])|```)/m;
const MAX_LINES = 50;

/** Returns at most 50 lines, of a text of unknown purpose, that read as commands; none if the text is for people. */
export function commandLines(text: string): string {
  const lines = PROSE_LINE.test(text) ? [] : [...text.matchAll(COMMAND_LINE)].slice(0, MAX_LINES);
  return lines.map(([, line = '']) => line).join('\n');
}

/** Pattern for keys whose lists contain commands, not the words of one command. */
const PLURAL = /s$/i;

/** Returns the texts in a call's input, at any depth, that its tool runs. */
export function runTexts(call: ToolCall): RunText[] {
  const kind = classOf(call.tool);
  if (kind === 'reads' || kind === 'changes') return [];
  const found: RunText[] = [];
  const visit = (value: unknown, cwd: string): void => {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      for (const each of value) visit(each, cwd);
      return;
    }
    const entries = Object.entries(value);
    const given = entries.find(([key, each]) => isKey(key, CWD_KEY) && typeof each === 'string')?.[1];
    const here = typeof given === 'string' ? resolve(cwd, given) : cwd;
    const args = entries.find(([key]) => isKey(key, ARGS_KEY))?.[1];
    for (const [key, each] of entries) {
      if (isKey(key, POWERSHELL_KEY)) add('powershell', textsOf(key, each, args), here);
      else if (isKey(key, CODE_KEY) || (kind === 'code' && typeof each === 'string'))
        add('code', textsOf(key, each, undefined), here);
      else if (
        key === 'command' ||
        (Array.isArray(args) && PROGRAM_KEY.test(key)) ||
        (!SHELL_TOOL_KEYS.has(key) && SHELL_KEY.test(wordsOf(key).join('_')))
      )
        add(kind === 'powershell' ? kind : 'shell', textsOf(key, each, args), here);
      else if (kind === 'unknown' && !PROSE_KEY.test(key) && !ARGS_KEY.test(key)) {
        // Lines that begin with git may be notes and are left out; lines such as `rm FILE` count as commands.
        const lines = textsOf(`${key}s`, each, undefined).map((text) => commandLines(text).replace(/^git .*/gm, ''));
        add('shell', lines.filter(Boolean), here);
      }
      visit(each, here);
    }
  };
  const add = (of: RunText['kind'], texts: readonly string[], cwd: string): void => {
    for (const text of texts) found.push({ kind: of, text, cwd });
  };
  visit(call.input, call.cwd);
  return found;
}

function isKey(key: string, form: RegExp): boolean {
  return !SHELL_TOOL_KEYS.has(key) && form.test(key);
}

function textsOf(key: string, value: unknown, args: unknown): string[] {
  const rest = Array.isArray(args) && args !== value ? args.filter((each) => typeof each === 'string') : [];
  if (Array.isArray(value)) {
    const words = value.filter((each) => typeof each === 'string');
    const isList = PLURAL.test(key) || /\s/.test(words[0] ?? '');
    return isList || words.length === 0 ? words : [commandOf([...words, ...rest])];
  }
  if (typeof value !== 'string') return [];
  if (typeof args === 'string') return [`${value} ${args}`];
  return [rest.length === 0 ? value : `${value} ${commandOf(rest)}`];
}

function commandOf(words: readonly string[]): string {
  return words.map((word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : shellWord(word))).join(' ');
}

/** Returns the files that a patch changes. A name in a diff counts with and without its first segment: `-p` may drop it. */
export function patchTargets(text: string): string[] {
  const targets = new Set<string>();
  for (const line of text.split('\n')) {
    const marked = /^\s*\*\*\* (?:Update|Add|Delete) File: (.+?)\s*$|^\s*\*\*\* Move to: (.+?)\s*$/.exec(line);
    const diffed =
      /^(?:---|\+\+\+) ([^\t]+?)\s*$|^(?:---|\+\+\+) ([^\t]+)\t|^(?:rename|copy) (?:from|to) (.+?)\s*$/.exec(line);
    const name = marked?.[1] ?? marked?.[2] ?? diffed?.[1] ?? diffed?.[2] ?? diffed?.[3];
    if (name === undefined || name === '/dev/null') continue;
    targets.add(name);
    if (diffed !== null && name.includes('/')) targets.add(name.replace(/^[^/]+\//, ''));
  }
  return [...targets];
}
