import { type Examined, type Finding, fine } from './finding.ts';

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
