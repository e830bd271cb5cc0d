import { dirname, join } from 'node:path';
import { readObject, settingsFiles } from '../../hosts/claude/permission-rules.ts';
import { fieldsOf, stringsOf, textOf } from '../../hosts/fields.ts';
import { clientConfigDir } from '../../state/home-folder.ts';
import { shellWord } from '../../text/quote.ts';
import type { ReadMarks, Registration } from './registration.ts';
import { agentRegistration, fullRegistration, PASSED_HOOKS } from './registration.ts';

interface StartedLoop {
  readonly loopId: string;
  readonly name: string | null;
  /** Node that runs the launcher or the runner, and the hooks. */
  readonly node: string;
  /** Folder of the loop's files outside the project, as the launcher or the runner knows it. */
  readonly outsideRoot: string;
}

interface LaunchedLoop extends StartedLoop {
  readonly mainPath: string;
  readonly userStatusLine: string | null;
}

export interface AgentSettings {
  readonly disableAllHooks: false;
  readonly env: Readonly<Record<string, string>>;
  readonly hooks: Registration;
  readonly permissions?: RestrictingRules;
}

/** The client's permission rules that restrict, and those of a sandbox, which allow what the sandbox confines. */
interface RestrictingRules {
  readonly deny: readonly string[];
  readonly ask: readonly string[];
  readonly allow?: readonly string[];
}

export interface LauncherSettings extends AgentSettings {
  readonly disableAgentView: true;
  readonly statusLine: { readonly type: 'command'; readonly command: string; readonly refreshInterval: number };
}

/** Builds the launcher's `--settings`: no settings file of project or user can turn off or move its contents (measured). */
export function launcherSettings(loop: LaunchedLoop, platform: NodeJS.Platform = process.platform): LauncherSettings {
  return {
    disableAllHooks: false,
    // Otherwise, one left arrow key moves the session to another process, which does not own the loop (measured).
    disableAgentView: true,
    env: {
      ...variablesOf(loop),
      // Empty, so that no settings file can name another driver.
      RALPH_DRIVER: '',
      // An idle iteration makes no tool call: the client would override the ninth consecutive block.
      CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '0',
      ...(loop.userStatusLine === null ? {} : { RALPH_USER_STATUS_LINE: loop.userStatusLine }),
    },
    hooks: fullRegistration(dirname(dirname(loop.mainPath)), platform),
    statusLine: { type: 'command', command: statusLineCommand(loop, platform), refreshInterval: STATUS_LINE_SECONDS },
  };
}

/** Time after which the client runs the status line again. On a slow machine one run takes longer than a second. */
const STATUS_LINE_SECONDS = 2;

function statusLineCommand({ node, mainPath }: LaunchedLoop, platform: NodeJS.Platform): string {
  const program = join(dirname(mainPath), 'statusline.cjs');
  if (platform === 'win32') return `"${node}" "${program}"`;
  return `NODE_EXTRA_CA_CERTS= exec ${shellWord(node)} ${shellWord(program)}`;
}

/** Builds the runner's `--settings` for its agent: tool hooks of the bundle, and variables that name the driver. */
export function agentSettings(
  loop: StartedLoop & { readonly bundleDir: string; readonly marks: ReadMarks | null },
): AgentSettings {
  return {
    disableAllHooks: false,
    env: { ...variablesOf(loop), RALPH_DRIVER: 'runner' },
    hooks: agentRegistration(loop.bundleDir, loop.marks),
  };
}

/** Returns the variables by which a client's hooks identify their loop. */
function variablesOf({ loopId, name, node, outsideRoot }: StartedLoop) {
  return {
    RALPH_ACTIVE: '1',
    RALPH_HOOKS: PASSED_HOOKS,
    RALPH_LOOP_ID: loopId,
    RALPH_LOOP: name ?? '',
    RALPH_NODE: node,
    RALPH_STATE_HOME: dirname(outsideRoot),
  };
}

/** Returns the restrictions in the user's settings, for an agent that does not load them; undefined if there are none. */
export function userRestrictions(env: NodeJS.ProcessEnv): RestrictingRules | undefined {
  const { deny, ask } = fieldsOf(readObject(join(clientConfigDir(env), 'settings.json'))['permissions']);
  const rules = { deny: stringsOf(deny), ask: stringsOf(ask) };
  return rules.deny.length + rules.ask.length === 0 ? undefined : rules;
}

/** Returns the command of the user's own status line, which ours also runs; null if there is none. */
export function userStatusLine(projectDir: string, env: NodeJS.ProcessEnv): string | null {
  const { local, project, user } = settingsFiles(projectDir, env);
  const commands = [local, project, user].map((file) => textOf(fieldsOf(readObject(file)['statusLine'])['command']));
  return commands.find((command) => command !== '') ?? null;
}
