import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { isAbsolute, join, relative } from 'node:path';
import { test } from 'node:test';
import { LOOP_NAME, type LoopFiles, loopFiles, outsideRoot } from '../../../src/state/loop-files.ts';
import { aProject } from './a-loop.ts';

const SHARED = new Set(['projectDir', 'name', 'runtimeDir', 'outsideDir', 'log', 'records', 'batch', 'runsDir']);

function paths(files: LoopFiles): string[] {
  return Object.entries(files).flatMap(([key, path]) => (SHARED.has(key) || path === null ? [] : [path]));
}

test('All paths are absolute, even for a project given by a relative path.', () => {
  const files = loopFiles('some/project', null, {});
  for (const path of [...paths(files), files.runtimeDir, files.outsideDir, files.log])
    assert.ok(isAbsolute(path), path);
});

test('Two loops of one project share no file that either writes.', () => {
  const names = [null, 'a', 'b', 'json', 'lock', 'a.json', 'a.json.lock', 'json.lock', 'archive', 'state', 'a.b'];
  const all = names.flatMap((name) => paths(loopFiles('/p', name, { HOME: '/h' })));
  assert.equal(new Set(all).size, all.length);
});

test("Valid loop names cannot leave the loop's folder.", () => {
  for (const name of ['a', 'night-run', 'v1.2_x', '0', 'n'.repeat(64)]) assert.match(name, LOOP_NAME);
  for (const name of ['', '.', '..', '.a', '-a', 'a/b', 'a\\b', 'a b', 'a\n', 'ä', 'n'.repeat(65), 'a\0']) {
    assert.doesNotMatch(name, LOOP_NAME);
  }
});

test('Two projects of the same name have separate folders outside.', () => {
  const env = { HOME: '/h' };
  assert.notEqual(loopFiles('/one/app', null, env).outsideDir, loopFiles('/two/app', null, env).outsideDir);
});

test('A project reached through a link is the same project.', (t) => {
  const { projectDir } = aProject(t);
  const link = `${projectDir}-link`;
  symlinkSync(projectDir, link);
  const env = { HOME: '/h' };
  assert.equal(loopFiles(link, null, env).contract, loopFiles(projectDir, null, env).contract);
});

test('A project with any characters in its name has a plain folder outside.', (t) => {
  const { projectDir } = aProject(t);
  for (const name of ['a b', 'ü', '...', '$(x)', 'a\nb']) {
    const odd = join(projectDir, name);
    mkdirSync(odd, { recursive: true });
    const { outsideDir } = loopFiles(odd, null, { HOME: '/h' });
    assert.match(relative('/h/.local/state/ralph-loop', outsideDir), /^[a-zA-Z0-9._-]+-[0-9a-f]{16}$/);
  }
  assert.match(loopFiles('/', null, { HOME: '/h' }).outsideDir, /root-[0-9a-f]{16}$/);
});

test('The folder outside follows XDG_STATE_HOME if it is absolute, and the home folder otherwise.', () => {
  assert.equal(outsideRoot({ XDG_STATE_HOME: '/x', HOME: '/h' }), '/x/ralph-loop');
  for (const env of [{ HOME: '/h' }, { HOME: '/h', XDG_STATE_HOME: '' }, { HOME: '/h', XDG_STATE_HOME: 'relative' }]) {
    assert.equal(outsideRoot(env), '/h/.local/state/ralph-loop');
  }
  assert.equal(outsideRoot({}), join(homedir(), '.local/state/ralph-loop'));
});

/** Returns the home folder in the system's list of users; null in a container whose user is not in it. */
function homeOfUser(): string | null {
  try {
    return userInfo().homedir;
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ERR_SYSTEM_ERROR');
    return null;
  }
}

test('An empty or relative HOME puts no state into the project.', (t) => {
  const { HOME } = process.env;
  t.after(() => {
    if (HOME === undefined) delete process.env['HOME'];
    else process.env['HOME'] = HOME;
  });
  for (const odd of ['', 'relative']) {
    process.env['HOME'] = odd;
    const known = homeOfUser();
    if (known === null) assert.throws(() => outsideRoot({ HOME: odd }), /Set HOME/);
    else assert.equal(outsideRoot({ HOME: odd }), join(known, '.local/state/ralph-loop'));
  }
});
