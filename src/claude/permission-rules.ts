import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientConfigDir } from '../state/home-folder.ts';
import { jsonOrNull } from '../text/or-else.ts';
import { commandWords } from '../text/shell/command-words.ts';

/** A rule of the user's settings under which the client refuses calls; no option of a loop overrides it (measured). */
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

function managedDir(platform: NodeJS.Platform): string {
  if (platform === 'darwin') return '/Library/Application Support/ClaudeCode';
  return platform === 'win32' ? 'C:\\Program Files\\ClaudeCode' : '/etc/claude-code';
}

/** Reads the rules that forbid calls or demand a person's approval. A file that is missing or unreadable has none. */
export function permissionRules(projectDir: string, env: NodeJS.ProcessEnv): PermissionRule[] {
  return Object.values(settingsFiles(projectDir, env)).flatMap((path) => {
    const permissions = permissionsIn(path);
    return (['deny', 'ask'] as const).flatMap((kind) =>
      listOf(permissions[kind]).map((rule): PermissionRule => ({ kind, rule, path })),
    );
  });
}

function permissionsIn(path: string): Readonly<Record<string, unknown>> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    // The client reads no rules from it either.
    if ((error as NodeJS.ErrnoException).code !== undefined) return {};
    throw error;
  }
  const settings = jsonOrNull(text.replace(/^\uFEFF/, '')) as { readonly permissions?: unknown } | null;
  const found = settings?.permissions;
  return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {};
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

/** Returns the rule under which the client refused this call; if none fits for certain, those for the tool. */
export function refusingRules(
  rules: readonly PermissionRule[],
  kind: PermissionRule['kind'],
  tool: string,
  command: string,
): readonly PermissionRule[] {
  const own = rules.filter((one) => one.kind === kind && toolOf(one.rule) === tool);
  const whole = [command, ...commandWords(command).map((words) => words.join(' '))];
  // A wrapper comes first: `timeout 5 git push`.
  const inner = commandWords(command).flatMap((words) =>
    words.slice(0, MOST_WRAPPERS).map((_, index) => words.slice(index).join(' ')),
  );
  const found = [...whole, ...inner].flatMap((text) => own.find(({ rule }) => fits(rule, text)) ?? []);
  return found.length > 0 ? found.slice(0, 1) : own;
}

/** Words before the command proper, such as `timeout 5`. */
const MOST_WRAPPERS = 8;

function toolOf(rule: string): string {
  return rule.split('(', 1)[0] ?? '';
}

/** Returns whether a rule such as `Bash(git push:*)` or `Bash(npm run *)` covers a command. */
function fits(rule: string, command: string): boolean {
  const [, content] = /^\w+\((.*)\)$/s.exec(rule) ?? [];
  if (content === undefined) return true;
  const glob = content.replace(/:\*$/, ' *');
  const text = command.trim();
  return covers(glob, text) || (glob.endsWith(' *') && covers(glob.slice(0, -2), text));
}

/** Matches a text against a pattern with stars, in linear time: the agent writes the text. */
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
