import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { projectDirOf } from '../../../src/install/project-dir.ts';
import { emptyFolder } from '../../support/folder.ts';

const base = emptyFolder({ after });
const project = join(base, 'project');
const deep = join(project, 'packages', 'one');
const other = join(base, 'other');
mkdirSync(deep, { recursive: true });
mkdirSync(join(project, '.claude', 'ralph'), { recursive: true });
mkdirSync(join(other, '.claude'), { recursive: true });

const ask = { given: null, env: {}, cwd: deep, search: true } as const;

test('a command below a project finds it', () => {
  assert.equal(projectDirOf(ask), project);
});

test('a .claude without a loop is not a project', () => {
  assert.equal(projectDirOf({ ...ask, cwd: other }), other);
});

test('the tasks of a clone show its project, and such a folder outside of a repository does not', () => {
  const clone = join(base, 'clone');
  const below = join(clone, 'src');
  for (const made of [below, join(clone, '.ralph'), join(base, '.ralph')]) mkdirSync(made, { recursive: true });
  assert.equal(projectDirOf({ ...ask, cwd: below }), below, 'control: no repository');
  mkdirSync(join(clone, '.git'));
  assert.equal(projectDirOf({ ...ask, cwd: below }), clone);
  assert.equal(projectDirOf({ ...ask, cwd: other }), other, 'above the repository');
});

test('a loop that ran in the home folder does not take in the repositories below it', () => {
  const env = { HOME: join(base, 'user') };
  const repository = join(env.HOME, 'code', 'app');
  const notes = join(env.HOME, 'notes');
  for (const made of [join(repository, '.git'), notes, join(env.HOME, '.claude', 'ralph')])
    mkdirSync(made, { recursive: true });
  assert.equal(projectDirOf({ ...ask, env, cwd: repository }), repository);
  assert.equal(projectDirOf({ ...ask, env, cwd: notes }), env.HOME, 'control: no repository');
  assert.equal(projectDirOf({ ...ask, env: { HOME: base }, cwd: repository }), env.HOME, 'control: another folder');
  mkdirSync(join(env.HOME, '.git'));
  assert.equal(projectDirOf({ ...ask, env, cwd: notes }), env.HOME, 'control: the repository of the home folder');
});

test('init does not search upwards', () => {
  assert.equal(projectDirOf({ ...ask, search: false }), deep);
});

test('--project wins over the environment, and the environment over the search', () => {
  const env = { CLAUDE_PROJECT_DIR: other };
  assert.equal(projectDirOf({ ...ask, env }), other);
  assert.equal(projectDirOf({ ...ask, env, given: '../..' }), project);
});

test('refuses a --project that is not a directory', () => {
  assert.throws(() => projectDirOf({ ...ask, given: 'nowhere' }), /no such directory exists/);
});
