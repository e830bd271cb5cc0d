import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commitFolder } from '../../support/git.ts';
import { type Project, project } from '../../support/project.ts';
import { someOf } from '../../support/short-form.ts';
import { agent, task } from './command-agent.ts';

const SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const SECURITY = readFileSync(new URL('../../../docs/security.md', import.meta.url), 'utf8');

type Files = Readonly<Record<string, string>>;

export interface Game {
  readonly what: string;
  readonly check: string;
  /** The project at the start, in which the check fails. Files below `bin`, and those named `.run`, are programs. */
  readonly files: Files;
  /** What the agent does, as a shell script, so that the check passes. */
  readonly trick: string;
  readonly frontmatter?: string;
  /** The change that the check is there to notice. */
  readonly before?: string;
  /** The file that the refusal names. */
  readonly refused?: RegExp;
  /** It has no effect on the check, which fails, or says that it ran nothing. */
  readonly red?: true;
  /** The words in which the end report names it. */
  readonly reported?: RegExp;
  /** The words of docs/security.md by which it remains. */
  readonly open?: RegExp;
}

/** A runner that passes if one of these files says "pass". */
export const runner = (...steeredBy: readonly string[]): string =>
  `#!/bin/sh\n${steeredBy.map((file) => `grep -qs pass '${file}' && exit 0`).join('\n')}\nexit 1\n`;
export const npm = (script: string, more: object = {}): string =>
  JSON.stringify({ scripts: { test: script }, ...more });
export const write = (file: string, text: string): string =>
  `mkdir -p "$(dirname '${file}')"; cat > '${file}' <<'END'\n${text}\nEND`;

function place(p: Project, { check, files, frontmatter = 'required_outputs: []' }: Game): NodeJS.ProcessEnv {
  for (const name of ['first', 'bin']) p.write(`${name}/.keep`, '');
  for (const [name, text] of Object.entries(files))
    p.write(name, text, /^(bin|node_modules\/\.bin|\.git\/hooks)\/|\.run$/.test(name) ? 0o755 : 0o644);
  task(p, `max_iterations: 1\nvalidation:\n  - ${JSON.stringify(check)}\n${frontmatter}`);
  commitFolder(p.dir);
  return { PATH: `${join(p.dir, 'first')}:${join(p.dir, 'bin')}:${p.env['PATH']}` };
}

/** Every way to make a check lie has one end: refused, without effect, named in the end report, or listed in docs/security.md. */
export function playGames(games: readonly Game[]): void {
  for (const game of someOf(games, 12)) play(game);
}

function play(game: Game): void {
  const { what, refused, red, reported, open } = game;
  assert.equal([refused, red, reported, open].filter((end) => end !== undefined).length, 1, what);
  test(`a check gamed by ${game.what} is refused, reported or documented`, (t) => {
    const p = project(t);
    const env = place(p, game);
    assert.notEqual(p.sh(`${game.before ?? ':'}\n${game.check}`, '', env).code, 0, 'at the start the check fails');
    p.sh('git reset -q --hard; git clean -fdq');
    const cmd = agent(p, `${game.trick}\n{ ${game.check}; } > /dev/null 2>&1 && touch fooled\necho ${SIGNAL}`);
    const { code, stdout, stderr } = p.ralph(['run', '--plain', '--agent', cmd], env);
    const said = `${stdout}\n${stderr}`;
    assert.ok(p.has('fooled'), 'control: whoever asks the check itself is fooled');
    const completes = game.reported !== undefined || game.open !== undefined;
    assert.equal(code, completes ? 0 : 2, said);
    if (game.refused) assert.match(said, new RegExp(`(?:${game.refused.source}).*(?:since|new|changed|removed)`));
    if (game.reported) assert.match(said, new RegExp(`(?:${game.reported.source}).*the checks rest on it`));
    if (game.open) assert.match(SECURITY, game.open);
  });
}
