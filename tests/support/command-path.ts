import { delimiter, resolve } from 'node:path';

/** Folder with `ralph-loop` as a program: with it on the PATH, messages name the program by that name. */
export const COMMAND_DIR = resolve('tests', 'support', 'bin');

/** The PATH of this process with `ralph-loop` on it. */
export const COMMAND_PATH = `${COMMAND_DIR}${delimiter}${process.env['PATH'] ?? ''}`;
