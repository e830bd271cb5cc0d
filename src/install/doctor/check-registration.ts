import { hooksIn, type RegisteredHook } from '../hooks-in.ts';
import { SETTINGS_PATH } from '../init-project.ts';
import { isOurHook } from '../is-our-hook.ts';
import { sessionRegistration } from '../registration.ts';
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
