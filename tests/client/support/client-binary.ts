import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = join(dirname(fileURLToPath(import.meta.url)), '../../../node_modules/@anthropic-ai');

/** Tests of the real client fail, and do not skip, without it: a skipped test proves nothing. */
export const findClientBinary = (): string => {
  const candidates = [
    join(
      modules,
      `claude-code-${process.platform}-${process.arch}`,
      process.platform === 'win32' ? 'claude.exe' : 'claude',
    ),
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

export const clientVersion = (): string =>
  String((JSON.parse(readFileSync(join(modules, 'claude-code/package.json'), 'utf8')) as { version: unknown }).version);
