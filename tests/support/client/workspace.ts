import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shareCodeCache } from '../code-cache.ts';
import { initRepository } from '../git.ts';
import { findClientBinary, IS_NAMED } from './client-binary.ts';
import { seedClientConfig } from './client-config.ts';

export type JsonObject = { readonly [key: string]: unknown };

/** A project and a home of its own for one test. Paths given to its methods are relative to the project. */
export type Workspace = {
  readonly root: string;
  readonly project: string;
  readonly home: string;
  /** CLAUDE_CONFIG_DIR, seeded: onboarding done, `project` trusted, the API key approved, bypass warning accepted. */
  readonly configDir: string;
  /** XDG_STATE_HOME */
  readonly stateHome: string;
  /** Holds a symlink `claude` to the real client, or to its stand-in; first in PATH. */
  readonly binDir: string;
  readonly path: (relative: string) => string;
  readonly write: (relative: string, content: string | JsonObject, mode?: number) => string;
  readonly read: (relative: string) => string;
  readonly has: (relative: string) => boolean;
  readonly json: (relative: string) => JsonObject;
  /** Parsed lines; [] when the file is missing. A line that is not JSON throws with its number. */
  readonly jsonLines: (relative: string) => JsonObject[];
  /** Paths of the main transcripts of all sessions (subagents' files are not among them). */
  readonly transcripts: () => string[];
  readonly cleanup: () => void;
};

const parseLines = (file: string): JsonObject[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      if (line === '') return [];
      try {
        return [JSON.parse(line) as JsonObject];
      } catch (error) {
        throw new Error(`${file}:${index + 1} is not JSON: ${line.slice(0, 200)}`, { cause: error });
      }
    });

const listTranscripts = (configDir: string): string[] => {
  const projects = join(configDir, 'projects');
  if (!existsSync(projects)) return [];
  return readdirSync(projects).flatMap((name) =>
    readdirSync(join(projects, name))
      .filter((file) => file.endsWith('.jsonl'))
      .map((file) => join(projects, name, file)),
  );
};

const STAND_IN = join(dirname(fileURLToPath(import.meta.url)), '../stand-in/claude.mjs');

/** What starts it. Every loop asks for the version first, which needs no node. */
const BEFORE_STAND_IN = `#!/bin/sh\n[ "$1" = --version ] && exec echo '2.1.330 (Claude Code)'\nexec node "$0.mjs" "$@"\n`;

export type WorkspaceOptions = {
  readonly git?: boolean;
  readonly apiKey?: string;
  /** `claude` on the PATH is the stand-in for the client. */
  readonly standIn?: boolean;
};

export const createWorkspace = (options: WorkspaceOptions = {}): Workspace => {
  // realpath: the client keys trust by the resolved directory (/tmp is a link on some systems).
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-client-')));
  const place = (name: string): string => {
    const made = join(root, name);
    mkdirSync(made, { recursive: true });
    return made;
  };
  const [project, home, stateHome, binDir, configDir] = [
    place('project'),
    place('home'),
    place('state'),
    place('bin'),
    place('config'),
  ];
  shareCodeCache(stateHome);
  if (options.standIn === true && !IS_NAMED) {
    symlinkSync(STAND_IN, join(binDir, 'claude.mjs'));
    writeFileSync(join(binDir, 'claude'), BEFORE_STAND_IN, { mode: 0o755 });
  } else symlinkSync(findClientBinary(), join(binDir, 'claude'));
  seedClientConfig({
    configDir,
    trusted: [project],
    ...(options.apiKey === undefined ? {} : { apiKey: options.apiKey }),
  });
  // The user has answered the question about the sandbox, so that no terminal asks it.
  const own = join(home, '.config', 'ralph-loop');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'config.json'), JSON.stringify({ sandbox: { mode: 'off' } }));
  if (options.git === true) initRepository(project);

  const path = (relative: string): string => (isAbsolute(relative) ? relative : join(project, relative));
  const read = (relative: string): string => readFileSync(path(relative), 'utf8');
  return {
    root,
    project,
    home,
    configDir,
    stateHome,
    binDir,
    path,
    write: (relative, content, mode) => {
      const file = path(relative);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(
        file,
        typeof content === 'string' ? content : `${JSON.stringify(content, null, 2)}\n`,
        mode === undefined ? {} : { mode },
      );
      return file;
    },
    read,
    has: (relative) => existsSync(path(relative)),
    json: (relative) => JSON.parse(read(relative)) as JsonObject,
    jsonLines: (relative) => (existsSync(path(relative)) ? parseLines(path(relative)) : []),
    transcripts: () => listTranscripts(configDir),
    // What a test ended may still have a file on its way.
    cleanup: () => rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }),
  };
};
