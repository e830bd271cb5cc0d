import { main } from '../src/cli/command-line.ts';
import { NOTIFICATION, sendNotification } from '../src/drive/records/notification.ts';

const { env } = process;

// A loop that ends or pauses starts this program to notify its user, and does not wait for it.
void (env[NOTIFICATION] ? sendNotification(env, new Date().toISOString()) : main(process.argv.slice(2)));
