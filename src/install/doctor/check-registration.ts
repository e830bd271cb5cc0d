import { SETTINGS_PATH } from '../init-project.ts';
import { hooksIn, isOurHook, type RegisteredHook } from '../settings/our-hooks.ts';
import { sessionRegistration } from '../settings/registration.ts';
import { type Examined, type Finding, fine } from './finding.ts';

const CHECK = 'registration';
/** The client's own default, in seconds, where an entry names no timeout. */
const CLIENT_DEFAULT = 600;

/** Whether our hooks are registered once, with the very commands that the launcher passes, and with time enough. */
export function checkRegistration(examined: Examined): Finding[] {
  const { sources, platform } = examined;
  const wanted = hooksIn({ hooks: sessionRegistration(platform) }, '');
  const found = sources.flatMap(({ value, path }) => hooksIn(value, path));
  const project = sources.find(({ name }) => name === 'project')?.path ?? SETTINGS_PATH;
  const missing = wanted.filter(
    ({ event, command }) => !found.some((hook) => hook.source === project && same(hook, event, command)),
  );
  return [
    ...missingHooks(missing),
    ...found.filter((hook) => isStrange(hook, wanted)).map(strangeHook),
    ...stopTimeout(examined, found, wanted),
  ];
}

function same(hook: RegisteredHook, event: string, command: string): boolean {
  return hook.event === event && hook.command === command;
}

function missingHooks(missing: readonly RegisteredHook[]): Finding[] {
  if (missing.length === 0) return [fine(CHECK, `the hooks are registered in ${SETTINGS_PATH}.`)];
  const events = missing.map(({ event }) => event).join(', ');
  const message = `not registered in ${SETTINGS_PATH}, as this version registers them: ${events}. A loop started by hand does not run.`;
  return [{ check: CHECK, level: 'error', message, mend: 'main.cjs init.' }];
}

/** An entry that runs one of our hook files, by another command than ours: it would run beside the launcher's. */
function isStrange({ event, command, entry }: RegisteredHook, wanted: readonly RegisteredHook[]): boolean {
  const ours = isOurHook(entry) || /[/\\]hooks[/\\]ralph-[a-z-]+\.cjs/.test(command);
  return ours && !wanted.some((hook) => same(hook, event, command));
}

function strangeHook({ source, event }: RegisteredHook): Finding {
  return {
    check: CHECK,
    level: 'error',
    message: `${source} registers a ${event} hook of ours by another command. The client takes it for another hook and runs it twice, beside the launcher's.`,
    mend: 'take that entry out, then main.cjs init.',
  };
}

function stopTimeout(
  { policy, gateSeconds }: Examined,
  found: readonly RegisteredHook[],
  wanted: readonly RegisteredHook[],
): Finding[] {
  const check = 'stop-timeout';
  const registered = found.filter((hook) =>
    wanted.some(({ event, command }) => event === 'Stop' && same(hook, event, command)),
  );
  const needed = Math.max((policy?.idle?.maxDelayMs ?? 0) / 1000, gateSeconds);
  const short = registered.filter(({ entry }) => timeoutOf(entry) <= needed);
  if (short.length === 0) return registered.length === 0 ? [] : [fine(check, 'the Stop hook has time enough.')];
  return short.map(({ source, entry }) => ({
    check,
    level: 'error' as const,
    message: `${source} gives the Stop hook ${timeoutOf(entry)} s; idle.max_delay and the checks need more than ${needed} s. The client would kill it and end the loop.`,
    mend: 'set "timeout": 86400 there.',
  }));
}

function timeoutOf(entry: Readonly<Record<string, unknown>>): number {
  return typeof entry['timeout'] === 'number' ? entry['timeout'] : CLIENT_DEFAULT;
}

/** What in the client's settings would keep hooks from running at all. */
export function checkSettings({ sources }: Examined): Finding[] {
  return [...broken(sources), ...switchedOff(sources), ...managedOnly(sources)];
}

type Sources = Examined['sources'];

function broken(sources: Sources): Finding[] {
  const check = 'settings-readable';
  const findings = sources.flatMap(({ path, problem }): Finding[] => {
    if (problem === null) return [];
    const message = `${problem.replace(' Mend it first; nothing was written.', '')} The client passes over the whole file.`;
    return [{ check, level: 'error', message, mend: `mend ${path}.` }];
  });
  return findings.length > 0 ? findings : [fine(check, 'every settings file can be read.')];
}

function switchedOff(sources: Sources): Finding[] {
  const check = 'hooks-enabled';
  const findings = sources
    .filter(({ value }) => value['disableAllHooks'] === true)
    .map(({ path, name }): Finding => {
      const scope = name === 'managed' ? 'no hook runs' : 'no hook runs in a loop started by hand';
      return {
        check,
        level: 'error',
        message: `${path} sets disableAllHooks: ${scope}.`,
        mend: `take it out, or start loops through the launcher only, which passes its own hooks.`,
      };
    });
  return findings.length > 0 ? findings : [fine(check, 'no settings file turns hooks off.')];
}

function managedOnly(sources: Sources): Finding[] {
  const check = 'managed-settings';
  const managed = sources.find(({ name, exists }) => name === 'managed' && exists);
  if (managed === undefined) return [fine(check, 'there are no managed settings.')];
  if (managed.value['allowManagedHooksOnly'] !== true) {
    return [fine(check, `${managed.path} does not forbid hooks of projects.`)];
  }
  return [
    {
      check,
      level: 'error',
      message: `${managed.path} sets allowManagedHooksOnly: hooks of projects and of the launcher do not run, so that no loop can.`,
      mend: 'ask the administrator of this machine to allow them. Router mode (main.cjs router) needs no hooks.',
    },
  ];
}
