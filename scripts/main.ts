import { main } from '../src/cli/command-line.ts';
import { NOTIFICATION, sendNotification } from '../src/drive/records/notification.ts';
import { hideFleetVariables } from '../src/state/process/fleet-variables.ts';

const { env } = process;

hideFleetVariables(env);
// Nothing is left to do: without this, node would free its memory, which takes a twentieth of a loop's start.
process.once('beforeExit', () => process.exit());

// A loop that ends or pauses starts this program to notify its user, and does not wait for it.
void (env[NOTIFICATION] ? sendNotification(env, new Date().toISOString()) : main(process.argv.slice(2)));
