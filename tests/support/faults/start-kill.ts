import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { loopFiles } from '../../../src/state/loop-files.ts';
import { start } from '../drive/drive-project.ts';
import { killAtChange } from './faulty-fs.ts';

/** Starts a loop afresh as its user would, and kills itself in place of the N-th change of the disk. Usage: start-kill.cjs FOLDER N */
const [folder = '', n = ''] = process.argv.slice(2);
const directory = join(folder, 'project');
const env = { HOME: folder, XDG_STATE_HOME: join(folder, 'outside'), CLAUDE_PROJECT_DIR: directory };
const project = { directory, env, files: loopFiles(directory, null, env) };
killAtChange(Number(n), () => start(project, true, 'fresh', new Date().toISOString()));
writeSync(1, 'passed\n');
