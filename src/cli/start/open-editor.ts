import { spawnSync } from 'node:child_process';
import type { CommandContext } from '../command.ts';

/** Opens a file in the user's editor and waits for it. */
export function openEditor(file: string, env: NodeJS.ProcessEnv, err: CommandContext['err']): void {
  const editor = env['VISUAL'] || env['EDITOR'];
  if (!editor) {
    err('No editor is set. Set EDITOR, or edit the file yourself later.');
    return;
  }
  // Uses the shell because an editor may have options: EDITOR="code --wait".
  const command = `${editor} "${process.platform === 'win32' ? '%RALPH_EDIT%' : '$RALPH_EDIT'}"`;
  const { status, error } = spawnSync(command, { shell: true, stdio: 'inherit', env: { ...env, RALPH_EDIT: file } });
  if (error !== undefined || status !== 0) err(`The editor failed (${error?.message ?? `exit code ${status}`}).`);
}
