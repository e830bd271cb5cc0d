import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const shells = new Set();

/** A call as the client shows it: to hooks its path is absolute, and Edit has all of its fields. */
export function prepared(block, cwd, isAbsolute) {
  if (block.type !== 'tool_use') return block;
  const input = { ...(block.name === 'Edit' ? { replace_all: false } : {}), ...block.input };
  if (isAbsolute && typeof input.file_path === 'string') input.file_path = resolve(cwd, input.file_path);
  return { ...block, input };
}

export async function runTool(name, input, session, signal) {
  switch (name) {
    case 'Bash':
      return bash(input, session, signal);
    case 'Write': {
      const isNew = !existsSync(input.file_path);
      mkdirSync(dirname(input.file_path), { recursive: true });
      writeFileSync(input.file_path, input.content);
      const content = `File ${isNew ? 'created' : 'updated'} successfully at: ${input.file_path}`;
      return { content, failed: false, response: { type: isNew ? 'create' : 'update', filePath: input.file_path } };
    }
    case 'Edit': {
      const before = readFileSync(input.file_path, 'utf8');
      if (!before.includes(input.old_string)) return { content: 'String to replace not found in file.', failed: true };
      writeFileSync(
        input.file_path,
        before.replace(input.old_string, () => input.new_string),
      );
      const content = `The file ${input.file_path} has been updated successfully.`;
      return { content, failed: false, response: { filePath: input.file_path } };
    }
    case 'Read': {
      if (!existsSync(input.file_path)) return { content: 'File does not exist.', failed: true };
      const lines = readFileSync(input.file_path, 'utf8').split('\n');
      const content = lines.map((line, index) => `${index + 1}\t${line}`).join('\n');
      return { content, failed: false, response: { type: 'text' } };
    }
    default:
      throw new Error(`the stand-in has no tool ${name}`);
  }
}

/** A shell of its own for each command, in the project's folder, with what a SessionStart hook has exported. */
async function bash({ command, run_in_background: inBackground }, { cwd, sessionId, envFile }, signal) {
  if (inBackground) throw new Error('the stand-in runs nothing in the background');
  const exported = existsSync(envFile) ? `${readFileSync(envFile, 'utf8')}\n` : '';
  const env = { ...process.env, CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: sessionId, CLAUDE_PID: String(process.pid) };
  const child = spawn('/bin/bash', ['-c', `${exported}eval "$0"`, command], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  shells.add(child.pid);
  const end = () => kill(child.pid);
  signal.addEventListener('abort', end);
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk) => (stderr += chunk));
  const code = await new Promise((resolve) => child.on('close', resolve));
  signal.removeEventListener('abort', end);
  shells.delete(child.pid);
  signal.throwIfAborted();
  const output = [stdout, stderr]
    .map((text) => text.trimEnd())
    .filter((text) => text !== '')
    .join('\n');
  if (code !== 0) return { content: `Exit code ${code}${output === '' ? '' : `\n${output}`}`, failed: true };
  const content = output === '' ? '(Bash completed with no output)' : output;
  return { content, failed: false, response: { stdout, stderr, interrupted: false } };
}

function kill(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** Ends the shells that still run. */
export function endShells() {
  for (const pid of shells) kill(pid);
}
