import { findClient } from '../../claude/find-client.ts';
import { type FleetFinding, serverFindings } from '../../fleet/doctor.ts';
import { FLEET_TEXTS } from '../../fleet/messages.ts';
import { requeueLoops } from '../../fleet/requeue.ts';
import { FleetKey } from '../../fleet/signing.ts';
import { onPath } from '../../state/process/find-program.ts';
import { fleetVariables } from '../../state/process/fleet-variables.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { type CommandContext, valuesOf } from '../command.ts';
import { connectFleet, type FleetContext } from './fleet-context.ts';
import { placeOfFleet } from './fleet-options.ts';

/** Checks what a worker needs. The exit code is 1 if an error remains. */
export async function fleetDoctor(context: CommandContext): Promise<number> {
  const findings = [
    await found('packages and server', async () => {
      const server = await connectFleet(context, false);
      try {
        return await serverFindings(server, keyOf());
      } finally {
        await server.close();
      }
    }),
    await found('key', async () => {
      new FleetKey(fleetVariables()['RALPH_FLEET_KEY']);
      return [{ level: 'ok', name: 'key', message: FLEET_TEXTS.keyThere }];
    }),
    await found('git', async () => {
      const git = onPath(process.platform === 'win32' ? 'git.exe' : 'git', context.env);
      return [{ level: git === null ? 'error' : 'ok', name: 'git', message: git ?? FLEET_TEXTS.noGit }];
    }),
    await found('client', async () => {
      const client = findClient(context.env);
      return [
        { level: client === null ? 'warning' : 'ok', name: 'client', message: client?.path ?? FLEET_TEXTS.noClient },
      ];
    }),
  ].flat();
  const ok = findings.every(({ level }) => level !== 'error');
  const marks = { ok: '✓', warning: '!', error: '✗' } as const;
  context.answer({ ok, findings }, () =>
    findings.map(({ level, name, message }) => `${marks[level]} ${name}: ${message}`).join('\n'),
  );
  return ok ? 0 : 1;
}

/** Queues loops of a repository whose jobs the server has lost, from their last checkpoints. */
export async function requeue(context: FleetContext): Promise<number> {
  const [url, ...others] = valuesOf(context, 'repo');
  if (url === undefined || others.length > 0) throw new RalphError('usage', FLEET_TEXTS.needsRepo('doctor --requeue'));
  const { server, key, env } = context;
  const { queued, refused } = await requeueLoops(server, key, placeOfFleet(context), env, url);
  context.answer({ ok: true, queued, refused }, () =>
    [
      ...queued.map((id) => FLEET_TEXTS.requeued(id)),
      ...refused.map((id) => FLEET_TEXTS.unsigned(id)),
      ...(queued.length + refused.length === 0 ? [FLEET_TEXTS.nothingLost] : []),
    ].join('\n'),
  );
  return refused.length === 0 ? 0 : 1;
}

function keyOf(): FleetKey | null {
  try {
    return new FleetKey(fleetVariables()['RALPH_FLEET_KEY']);
  } catch (error) {
    if (error instanceof RalphError) return null; // has a row of its own
    throw error;
  }
}

async function found(name: string, look: () => Promise<readonly FleetFinding[]>): Promise<readonly FleetFinding[]> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof RalphError)) throw error;
    return [{ level: 'error', name, message: error.message }];
  }
}
