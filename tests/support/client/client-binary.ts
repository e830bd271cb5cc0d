import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = join(dirname(fileURLToPath(import.meta.url)), '../../../node_modules/@anthropic-ai');
/** Path of another installed client to run the tests with, such as the oldest that is supported (npm run test:floor). */
const OTHER = process.env['RALPH_TEST_CLAUDE'];

/** With a client that is named, every test runs that client: no stand-in takes its place. */
export const IS_NAMED = OTHER !== undefined;

/** Returns the client under test. Throws without one: tests of the real client fail and are not skipped. */
export const findClientBinary = (): string => {
  const program = process.platform === 'win32' ? 'claude.exe' : 'claude';
  const candidates =
    OTHER !== undefined
      ? [OTHER]
      : [
          join(modules, `claude-code-${process.platform}-${process.arch}`, program),
          join(modules, 'claude-code/bin/claude.exe'),
        ];
  const found = candidates.find((candidate) => existsSync(candidate));
  if (found === undefined) {
    throw new Error(
      `The Claude Code client is not installed (looked at ${candidates.join(', ')}). Run \`npm ci\` with optional dependencies.`,
    );
  }
  return found;
};

export const clientVersion = (): string => {
  if (OTHER === undefined) {
    const manifest = JSON.parse(readFileSync(join(modules, 'claude-code/package.json'), 'utf8'));
    return String((manifest as { version: unknown }).version);
  }
  const [version = ''] = execFileSync(findClientBinary(), ['--version'], { encoding: 'utf8' }).split(' ');
  return version;
};
