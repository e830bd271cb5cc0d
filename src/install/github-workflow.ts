import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { writeAtomically } from '../state/files/regular-file.ts';
import { RalphError } from '../text/message.ts';
import { bundledText } from './files/bundled-text.ts';
import { safePath } from './project-files.ts';

const WORKFLOW = '.github/workflows/ralph-loop.yml';

/**
 * Writes the workflow that verifies the proofs of a pull request, and returns its path in the project. Throws `refused` if a
 * file is there, which stays as it is.
 */
export function writeGithubWorkflow(projectDir: string, version: string): string {
  const path = safePath(projectDir, WORKFLOW);
  if (existsSync(path)) throw new RalphError('refused', `${WORKFLOW} already exists and stays as it is.`);
  mkdirSync(dirname(path), { recursive: true });
  writeAtomically(path, bundledText('templates/github-action.yml').replace('{version}', version));
  return WORKFLOW;
}
