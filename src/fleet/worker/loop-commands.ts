import { operate } from '../../drive/control/operate.ts';
import { steering } from '../../engine/events.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { RalphError } from '../../text/message.ts';
import type { FleetKey, Submission } from '../job.ts';
import { type FleetCommand, readCommands } from '../queue/commands.ts';
import { type FleetServer, KEYS } from '../queue/connect.ts';

interface CommandTarget {
  readonly server: FleetServer;
  readonly key: FleetKey;
  readonly submission: Submission;
  readonly files: LoopFiles;
  readonly env: NodeJS.ProcessEnv;
}

/** Applies a loop's commands in order, each once: the checkpoint records the last one. */
export class LoopCommands {
  /** Id of the last applied command. */
  last: string | null;
  /** The user's latest request for the loop; kept until the claim ends. */
  wanted: 'cancel' | 'pause' | null = null;
  readonly #target: CommandTarget;
  #busy: Promise<void> = Promise.resolve();
  #refused = 0;

  constructor(target: CommandTarget, last: string | null) {
    this.#target = target;
    this.last = last;
  }

  /** Reads and applies new commands. `isLive`: the runner has started, so the loop has a state. */
  apply(isLive: boolean): Promise<void> {
    this.#busy = this.#busy.then(
      () => this.#read(isLive),
      () => this.#read(isLive),
    );
    return this.#busy;
  }

  async #read(isLive: boolean): Promise<void> {
    const { server, key, submission } = this.#target;
    const { commands, refused } = await readCommands(server, key, submission, this.last);
    if (refused !== this.#refused) await server.redis.hset(KEYS.refused, `commands of ${submission.loopId}`, refused);
    this.#refused = refused;
    for (const command of commands) {
      // A message needs a loop that can receive it; later commands wait as well.
      if (command.kind === 'steer' && !isLive) return;
      this.#carryOut(command, isLive);
      this.last = command.id;
    }
  }

  #carryOut({ kind, id, text, at }: FleetCommand, isLive: boolean): void {
    switch (kind) {
      case 'cancel':
        this.wanted = 'cancel';
        if (isLive) this.#operate(at, { kind: 'cancel' });
        return;
      case 'pause':
        if (this.wanted === null) this.wanted = 'pause';
        return;
      case 'steer':
        this.#operate(at, steering(id, text, 'now'));
        return;
      default:
        kind satisfies never;
    }
  }

  #operate(at: string, command: ReturnType<Parameters<typeof operate>[3]>): void {
    const { files, env } = this.#target;
    try {
      operate(files, env, at, () => command);
    } catch (error) {
      // The loop has ended meanwhile and cannot receive anything.
      if (!(error instanceof RalphError) || error.code !== 'no-loop') throw error;
    }
  }
}
