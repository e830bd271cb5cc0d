import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { sha256 } from '../../state/hash-contract.ts';
import { clientConfigDir } from '../../state/home-folder.ts';
import { show } from '../../state/process/program.ts';
import { advise, RalphError } from '../../text/message.ts';
import { excerpt, listed } from '../../text/quote.ts';
import { HOOKS_HOME, plannedFiles } from '../files/planned-files.ts';
import { SETTINGS_PATH } from '../init-project.ts';
import { BUNDLE_HOME, readManifest, readText, safePath, writtenBy } from '../project-files.ts';
import { sessionRegistration } from '../settings/registration.ts';
import { isPluginEnabled } from '../settings/settings-sources.ts';
import { hooksIn, isOurHook, otherLoopText, otherStopHooks, type RegisteredHook } from '../settings/stop-hooks.ts';
import { type Check, type Examined, error, isSetUp, type Outcome, ok, orFine, warning } from './finding.ts';

const INIT = advise('the hooks have to be reinstalled.', 'Run', 'init');
/** Default timeout of the client in seconds. */
const CLIENT_DEFAULT = 600;

export const settingsReadable: Check = ({ sources }) => {
  const broken = sources.flatMap(({ path, problem }) =>
    problem === null ? [] : [error(`${problem} The client ignores the whole file.`, `fix ${path}.`)],
  );
  return orFine(broken, 'every settings file is valid.');
};

/** Checks that another client runs the hooks that `init` wrote for it. */
export const hostHooks: Check = ({ hostHooks = [] }) =>
  hostHooks.map(({ place, begin, problem }) =>
    problem === null
      ? ok(`the client runs the hooks in ${place}. A session of a loop begins with: ${begin}`)
      : error(`the hooks in ${place}: ${problem.text}.`, problem.repair),
  );

export const hooksEnabled: Check = ({ sources }) => {
  const disabled = sources.filter(({ value }) => value['disableAllHooks'] === true);
  const fix = 'remove it, or start loops only with the launcher, which passes its own hooks.';
  const problems = disabled.map(({ path, name }) => {
    const scope = name === 'managed' ? 'no hook runs' : 'no hook runs in a loop started by hand';
    return error(`${path} sets disableAllHooks: ${scope}.`, fix);
  });
  return orFine(problems, 'no settings file turns hooks off.');
};

export const managedSettings: Check = ({ sources }) => {
  const managed = sources.find(({ name, exists }) => name === 'managed' && exists);
  if (managed === undefined) return [ok('there are no managed settings.')];
  if (managed.value['allowManagedHooksOnly'] !== true) return [ok(`${managed.path} allows project hooks.`)];
  const message = `${managed.path} sets allowManagedHooksOnly: hooks of projects and of the launcher do not run, so no loop can.`;
  const fix = 'ask the administrator of this machine to allow them. Router mode needs no hooks.';
  return [error(message, fix)];
};

const NOT_SET_UP = advise(
  'no hooks are registered: "run" and "start --launch" pass their own.',
  'For sessions started by hand',
  'init',
);

const SKILL_ALONE = (folder: string): string =>
  `${folder} is the skill without its hooks, so none is live in a session started by hand. "run" and "start --launch" pass their own.`;

/** Returns a copy of the skill that came without the program, as from an installer of skills; null if there is none. */
function skillAlone({ projectDir, env }: Examined): string | null {
  const copies = [join(projectDir, BUNDLE_HOME), join(clientConfigDir(env), 'skills', basename(BUNDLE_HOME))];
  const isAlone = (copy: string): boolean =>
    existsSync(join(copy, 'SKILL.md')) && !existsSync(join(copy, 'scripts', 'main.cjs'));
  return copies.find(isAlone) ?? null;
}

/** Checks that our hooks are registered once, with the same commands that the launcher passes. */
export const registration: Check = (examined) => {
  const { found, wanted } = registered(examined);
  const ours = found.filter(({ entry }) => isOurHook(entry));
  if (isPluginEnabled(examined.sources)) {
    if (ours.length === 0) return [ok('the plugin registers the hooks.')];
    const message = `the plugin registers the hooks, and so does ${ours[0]?.source}: each runs twice in a loop started by hand.`;
    return [
      warning(
        message,
        advise('disable the plugin (claude plugin disable ralph-loop).', 'Or remove the hooks', 'init'),
        'init',
      ),
    ];
  }
  if (!isSetUp(examined)) {
    const skill = skillAlone(examined);
    return [
      skill === null ? ok(show(NOT_SET_UP)) : warning(SKILL_ALONE(skill), advise('set up the project.', 'Run', 'init')),
    ];
  }
  const project = examined.sources.find(({ name }) => name === 'project')?.path ?? SETTINGS_PATH;
  const missing = wanted.filter(
    ({ event, command }) => !found.some((hook) => hook.source === project && isSame(hook, event, command)),
  );
  return [missingHooks(missing), ...found.filter((hook) => isForeign(hook, wanted)).map(foreignHook)];
};

function registered({ sources, platform }: Examined): Record<'found' | 'wanted', readonly RegisteredHook[]> {
  return {
    found: sources.flatMap(({ value, path }) => hooksIn(value, path)),
    wanted: hooksIn({ hooks: sessionRegistration(platform) }, ''),
  };
}

function isSame(hook: RegisteredHook, event: string, command: string): boolean {
  return hook.event === event && hook.command === command;
}

function missingHooks(missing: readonly RegisteredHook[]): Outcome {
  if (missing.length === 0) return ok(`the hooks are registered in ${SETTINGS_PATH}.`);
  const events = missing.map(({ event }) => event).join(', ');
  const message = `not registered in ${SETTINGS_PATH} as this version needs: ${events}. A loop started by hand does not run.`;
  return error(message, INIT, 'init');
}

/** Returns whether an entry runs one of our hook files with a different command, in addition to the launcher's. */
function isForeign({ event, command, entry }: RegisteredHook, wanted: readonly RegisteredHook[]): boolean {
  const ours = isOurHook(entry) || /[/\\]hooks[/\\]ralph-[a-z-]+\.cjs/.test(command);
  return ours && !wanted.some((hook) => isSame(hook, event, command));
}

function foreignHook({ source, event }: RegisteredHook): Outcome {
  const message = `${source} registers our ${event} hook with a different command. The client treats it as another hook and runs it in addition to the launcher's.`;
  return error(message, advise('remove that entry.', 'Then', 'init'));
}

/** Checks that the timeout of the Stop hook covers the longest wait and the checks. */
export const stopTimeout: Check = (examined) => {
  const { policy, gateSeconds } = examined;
  const { found, wanted } = registered(examined);
  const stops = found.filter((hook) =>
    wanted.some(({ event, command }) => event === 'Stop' && isSame(hook, event, command)),
  );
  if (stops.length === 0) return [];
  const needed = Math.max((policy?.idle?.maxDelayMs ?? 0) / 1000, gateSeconds);
  const problems = stops.flatMap(({ source, entry }) => {
    const seconds = typeof entry['timeout'] === 'number' ? entry['timeout'] : CLIENT_DEFAULT;
    if (seconds > needed) return [];
    const message = `${source} gives the Stop hook ${seconds} s; idle.max_delay and the checks need more than ${needed} s. The client would kill it and end the loop.`;
    return [error(message, 'set "timeout": 86400 there.')];
  });
  return orFine(problems, 'the timeout of the Stop hook is long enough.');
};

export const hookFiles: Check = (examined) => {
  const { projectDir, bundle } = examined;
  if (!isSetUp(examined)) return [];
  try {
    const manifest = readManifest(projectDir);
    const [missing, former, foreign]: [string[], string[], string[]] = [[], [], []];
    for (const { path, content } of plannedFiles(bundle, projectDir)) {
      if (![HOOKS_HOME, `${BUNDLE_HOME}/scripts`, `${BUNDLE_HOME}/hooks`].includes(dirname(path))) continue;
      const current = readText(safePath(projectDir, path));
      if (current === null) missing.push(path);
      else if (current.replaceAll('\r\n', '\n') !== content.replaceAll('\r\n', '\n'))
        (manifest !== null && writtenBy(manifest, path).includes(sha256(current)) ? former : foreign).push(path);
    }
    const lacking = [
      ...(missing.length === 0 ? [] : [`missing: ${listed(missing, 3)}.`]),
      ...(former.length === 0 ? [] : [`from another version: ${listed(former, 3)}.`]),
    ].map((message) => error(message, INIT, 'init'));
    return orFine([...lacking, ...foreign.map(foreignFile)], 'the installed hooks match this bundle.');
  } catch (problem) {
    if (!(problem instanceof RalphError)) throw problem;
    return [error(problem.message, advise('fix that.', 'Then', 'init'))];
  }
};

function foreignFile(path: string): Outcome {
  const message = `${path} does not match this bundle, and init did not write it like this: it was changed, or belongs to another program.`;
  return error(message, advise('move it away.', 'Then', 'init'));
}

/** Finds Stop hooks of others: they also answer every Stop, and may block it after our loop has ended. */
export const otherHooks: Check = ({ projectDir, sources, env }) => {
  const problems = otherStopHooks(projectDir, sources, env).map((hook): Outcome => {
    if (hook.isOfLoop) {
      const { text, advice = [] } = otherLoopText(hook, projectDir);
      return error(text, { text: '', advice });
    }
    const { source, command } = hook;
    // The rest of a long command may contain a secret.
    const shown = excerpt(command, 60);
    const message = `another Stop hook is registered in ${source}: ${shown}. It also answers every Stop; if it blocks, the session continues after the loop has ended.`;
    return warning(message, 'make sure that it lets a session end, or remove it while loops run.');
  });
  return orFine(problems, 'no other Stop hook is registered.');
};
