import { homedir } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';
import picomatch from 'picomatch';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { clientConfigDir, managedDir } from '../../state/home-folder.ts';
import { commandWords } from '../../text/shell/parse-shell.ts';
import { type Fields, fieldsOf, parseFields, stringsOf } from '../fields.ts';

/** A rule of the user's settings by which the client refuses calls; no option of a loop overrides it (measured). */
export interface PermissionRule {
  readonly kind: 'deny' | 'ask';
  readonly rule: string;
  /** Settings file that holds it. */
  readonly path: string;
}

/** Returns the client's settings files of a project, the machine's last. */
export function settingsFiles(projectDir: string, env: NodeJS.ProcessEnv, platform = process.platform) {
  const claude = join(projectDir, '.claude');
  return {
    project: join(claude, 'settings.json'),
    local: join(claude, 'settings.local.json'),
    user: join(clientConfigDir(env), 'settings.json'),
    managed: join(managedDir(platform), 'managed-settings.json'),
  };
}

/** Reads the rules that forbid calls or demand a person's approval. A missing or unreadable file has none. */
export function permissionRules(projectDir: string, env: NodeJS.ProcessEnv): PermissionRule[] {
  return Object.values(settingsFiles(projectDir, env)).flatMap((path) => {
    const permissions = fieldsOf(readObject(path)['permissions']);
    return (['deny', 'ask'] as const).flatMap((kind) =>
      stringsOf(permissions[kind]).map((rule): PermissionRule => ({ kind, rule, path })),
    );
  });
}

/** The client keeps its history in one of these files. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Reads a JSON object; empty for anything that is not a readable file with JSON. */
export function readObject(path: string): Fields {
  return fieldsOf(parseFields((readRegularFile(path, MOST_BYTES) ?? '').replace(/^\uFEFF/, '')));
}

interface RefusedCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly projectDir: string;
}

/** Returns the rule that covers this call; if none certainly does, all that may. */
export function refusingRules(
  rules: readonly PermissionRule[],
  kind: PermissionRule['kind'],
  call: RefusedCall,
): { readonly isCertain: boolean; readonly rules: readonly PermissionRule[] } {
  const tools = [call.tool, ...(FAMILIES[call.tool] ?? [])];
  const own = tools.flatMap((tool) => rules.filter((one) => one.kind === kind && toolOf(one.rule) === tool));
  const found = own.find((rule) => coversCall(rule, call));
  return found === undefined ? { isCertain: false, rules: own } : { isCertain: true, rules: [found] };
}

/** Tools whose rules the client also applies to another tool (measured): a shell command names the files that it reads. */
const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  Bash: ['Read', 'Edit'],
  Grep: ['Read'],
  Glob: ['Read'],
  Edit: ['Read'],
  Write: ['Edit', 'Read'],
  MultiEdit: ['Edit', 'Read'],
  NotebookEdit: ['Edit', 'Read'],
};

function toolOf(rule: string): string {
  return rule.split('(', 1)[0] ?? '';
}

function coversCall({ rule, path }: PermissionRule, { tool, input, projectDir }: RefusedCall): boolean {
  const [, name, content] = /^(\w+)\((.*)\)$/s.exec(rule) ?? [];
  if (name === undefined || content === undefined) return toolOf(rule) === tool;
  const command = typeof input['command'] === 'string' ? input['command'] : '';
  if (name === 'Bash') return commandTexts(command).some((text) => coversCommand(content, text));
  if (name === 'WebFetch') {
    const url = String(input['url']);
    return URL.canParse(url) && content === `domain:${new URL(url).hostname}`;
  }
  const given = [input['file_path'], input['notebook_path'], input['path'], ...commandWords(command).flat()];
  const base = path.startsWith(join(projectDir, '.claude')) ? projectDir : dirname(path);
  return given.some((each) => typeof each === 'string' && coversFile(content, each, projectDir, base));
}

/** Maximum number of words before the command proper, such as `timeout 5`. */
const MOST_WRAPPERS = 8;

/** Returns the texts of a command that a rule may begin with: the whole, its parts, and both without wrappers. */
function commandTexts(command: string): string[] {
  const parts = commandWords(command);
  const inner = parts.flatMap((words) => words.slice(0, MOST_WRAPPERS).map((_, index) => words.slice(index).join(' ')));
  return [command.trim(), ...parts.map((words) => words.join(' ')), ...inner];
}

/** Returns whether the content of a rule, such as `git push:*` or `npm run *`, covers a command. */
function coversCommand(content: string, text: string): boolean {
  const glob = content.replace(/:\*$/, ' *');
  return covers(glob, text) || (glob.endsWith(' *') && covers(glob.slice(0, -2), text));
}

/** Returns whether the content of a rule covers a file: `//` begins at the root, `~/` at home, `/` at the rule's own folder. */
function coversFile(content: string, file: string, projectDir: string, ruleDir: string): boolean {
  const [, start = '', rest = ''] = /^(\/\/|~\/|\/|\.\/)?(.*)$/s.exec(content) ?? [];
  const folder = { '//': '/', '~/': homedir(), '/': ruleDir }[start] ?? projectDir;
  const path = relative(folder, resolve(projectDir, file)).split(sep).join('/');
  // As in a .gitignore: a bare name matches at any depth, and a folder includes its files.
  const glob = start === '' && !rest.replace(/\/$/, '').includes('/') ? `**/${rest}` : rest;
  return !path.startsWith('../') && picomatch([glob, `${glob.replace(/\/$/, '')}/**`], { dot: true })(path);
}

/** Matches a text against a pattern with stars, in linear time: the text is the agent's. */
function covers(glob: string, text: string): boolean {
  const [first = '', ...parts] = glob.split('*');
  const last = parts.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
