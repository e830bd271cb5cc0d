import { main } from '../src/cli/command-line.ts';
import { NOTIFICATION, sendNotification } from '../src/drive/records/notification.ts';
import { hideFleetVariables } from '../src/state/process/fleet-variables.ts';

const { env } = process;

hideFleetVariables(env);
// Nothing is left to do then: node alone would take its memory apart, which costs a start of a loop a twentieth.
process.once('beforeExit', () => process.exit());

// A loop that ends or pauses starts this program to notify its user, and does not wait for it.
void (env[NOTIFICATION] ? sendNotification(env, new Date().toISOString()) : main(process.argv.slice(2)));
