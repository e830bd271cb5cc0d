import { findClient } from '../../hosts/claude/claude-code.ts';
import { USER_HOOK_HOSTS } from '../../hosts/hosts.ts';
import { examine, type Finding } from '../../install/doctor/checks.ts';
import type { Examined } from '../../install/doctor/finding.ts';
import { bundleDir } from '../../install/project-files.ts';
import { settingsSources } from '../../install/settings/settings-sources.ts';
import { userHooksPlace, userHooksProblem } from '../../install/settings/user-hooks.ts';
import { printable } from '../../term/format.ts';
import { ifRefused, RalphError } from '../../text/message.ts';
import { type Command, type CommandContext, options } from '../command.ts';
import { VERSION } from '../help.ts';
import { isAgent } from '../refuse-agent.ts';
import { effectiveSettings } from '../task/config.ts';

export const DOCTOR_COMMAND: Command = {
  name: 'doctor',
  usage: '[--fix]',
  help: 'Checks node, the client, the settings, the hooks, the task file and the remains of earlier loops, and fires the installed Stop hook on a sample loop. The exit code is 1 if an error remains.',
  example: 'ralph-loop doctor --fix',
  options: options({ fix: 'Repair what can be repaired without losing your changes.' }),
  async run(context) {
    const fix = context.values['fix'] === true;
    if (fix && isAgent(context.env))
      throw new RalphError('refused', '"doctor --fix" is for the user at a terminal; agents may run "doctor" alone.');
    const hostHooks = await examineHosts(context);
    let findings = examine({ ...examined(context), hostHooks });
    const fixed: string[] = [];
    if (fix) {
      const repairs = new Set(
        findings.filter(({ level }) => level !== 'ok').flatMap((finding) => finding.repair ?? []),
      );
      for (const finding of findings) if (finding.repair && finding.level !== 'ok') fixed.push(finding.message);
      for (const repair of repairs) repair();
      findings = examine({ ...examined(context), hostHooks });
    }
    const ok = !findings.some(({ level }) => level === 'error');
    const shown = findings.map(({ repair, ...finding }) => ({ ...finding, fixable: repair !== undefined }));
    context.answer({ ok, findings: shown, fixed }, () => forReading(findings, fixed, context));
    return ok ? 0 : 1;
  },
};

function examined({ projectDir, env, now }: CommandContext): Examined {
  const client = orError(() => findClient(env));
  const settings = orError(() => effectiveSettings(projectDir, env));
  return {
    projectDir,
    env,
    platform: process.platform,
    bundle: bundleDir(),
    version: VERSION,
    now: now(),
    node: { path: process.execPath },
    client: client instanceof RalphError ? null : client,
    sources: settingsSources(projectDir, env, process.platform),
    ...(settings instanceof RalphError
      ? { policy: null, gateSeconds: 0, settingsProblem: settings.message }
      : { policy: settings.policy, gateSeconds: settings.gateSeconds, settingsProblem: null }),
  };
}

/** Asks each client with our hooks in a file of the user whether it would run them. */
async function examineHosts({ env, projectDir }: CommandContext): Promise<NonNullable<Examined['hostHooks']>> {
  const asked = USER_HOOK_HOSTS.map(async (host) => {
    const { userHooks } = host;
    const begin = host.byHand.join(' ');
    const place = orError(() => userHooksPlace(userHooks, env));
    if (place === null) return [];
    if (place instanceof RalphError) {
      const text = place.message.replace(/\.$/, '');
      return [{ place: userHooks.file(env), begin, problem: { text, repair: 'fix the file.' } }];
    }
    const problem = await userHooksProblem(host, projectDir, env);
    return [{ place, begin, problem }];
  });
  return (await Promise.all(asked)).flat();
}

const orError = <T>(find: () => T): T | RalphError => ifRefused(find, (error) => error);

const MARKS = { ok: ['green', 'ok     '], warning: ['yellow', 'warning'], error: ['red', 'error  '] } as const;

function forReading(findings: readonly Finding[], fixed: readonly string[], context: CommandContext): string {
  const { paint } = context;
  const lines = findings.map(({ check, level, message, fix, repair }) => {
    const [style, mark] = MARKS[level];
    const advice = fix === null ? '' : `\n         -> ${printable(fix)}${repair ? ' (doctor --fix does it)' : ''}`;
    return `${paint(style, mark)}  ${paint('bold', check)}: ${printable(message)}${advice}`;
  });
  const count = (level: Finding['level']): string => {
    const amount = findings.filter((finding) => finding.level === level).length;
    return amount === 1 ? `1 ${level}` : `${amount} ${level}s`;
  };
  return [
    ...fixed.map((message) => `${paint('green', 'fixed  ')}  ${printable(message)}`),
    ...lines,
    '',
    `${count('error')}, ${count('warning')}.`,
  ].join('\n');
}
