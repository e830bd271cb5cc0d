import { join } from 'node:path';
import { launch } from '../../drive/start/launch/launch.ts';
import type { StartedLoop } from '../../drive/start/stages.ts';
import { hostOf } from '../../hosts/hosts.ts';
import { bundleDir } from '../../install/project-files.ts';
import { launcherSettings, userStatusLine } from '../../install/settings/session-settings.ts';
import { outsideRoot } from '../../state/loop-files.ts';
import { withPrefix } from '../../state/process/program.ts';
import { ringBell } from '../../term/write-text.ts';
import type { CommandContext } from '../command.ts';
import { withSandbox } from './sandbox-settings.ts';
import { modeIn } from './start-request.ts';

/** Runs the client for a started loop, with our settings, until the loop is over. Returns the exit code. */
export async function launchClient(
  context: CommandContext,
  loop: StartedLoop,
  client: string,
  hooks: readonly string[],
): Promise<number> {
  const { env, values, rest } = context;
  const headless = values['headless'] === true;
  const own = launcherSettings({
    loopId: loop.loopId,
    name: loop.files.name,
    node: process.execPath,
    outsideRoot: outsideRoot(env),
    mainPath: join(bundleDir(), 'scripts', 'main.cjs'),
    userStatusLine: userStatusLine(context.projectDir, env),
  });
  const settings = withSandbox(own, loop, env);
  const { message, code } = await launch(loop, {
    client,
    headless,
    settings: JSON.stringify(settings),
    permissionMode: modeIn(rest) === null ? loop.settings.permissionMode : null,
    model: loop.settings.model,
    effort: loop.settings.effort,
    hooks,
    own: rest,
    env: { ...env, ...settings.env, ...hostOf(loop.stored.contract.host).sessionEnv(loop.files.projectDir) },
    say: (line) => context.err(withPrefix(line)),
    repeat: context.err,
    requiresProof: values['require-verified'] === true,
  });
  context.err(withPrefix(message));
  if (loop.settings.notify.bell) ringBell();
  return code;
}
