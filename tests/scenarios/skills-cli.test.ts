import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DIST, type Project, project } from '../support/project.ts';

/** The installer of Agent Skills, the newest version that runs on our oldest Node.js. */
const SKILLS = join(import.meta.dirname, '..', '..', 'node_modules', 'skills', 'bin', 'cli.mjs');
const COPY = '.claude/skills';
const RELEASE = join(DIST, '..');
const SKILLS_OF_RELEASE = join(DIST, 'skills');

/** Installs all skills of a folder as `npx skills add FOLDER` does, without any network. */
function add(p: Project, folder: string): void {
  const { code, stdout, stderr } = p.sh(
    `'${process.execPath}' '${SKILLS}' add '${folder}' --yes --agent claude-code --skill '*'`,
    '',
    { DO_NOT_TRACK: '1', DISABLE_TELEMETRY: '1' },
  );
  assert.equal(code, 0, stdout + stderr);
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

const hooksOf = (p: Project): string =>
  p
    .ralph(['doctor'])
    .stdout.split('\n')
    .filter((line, at, all) => /registration/.test(`${all[at - 1]}${line}`))
    .join('\n');

test('skills add of a release brings both skills and nothing else, and doctor names what is missing', (t) => {
  const p = project(t);
  assert.match(hooksOf(p), /ok +registration: no hooks are registered/, 'control: without a copy nothing is missing');
  add(p, RELEASE);
  assert.deepEqual(filesIn(join(p.dir, COPY)), filesIn(SKILLS_OF_RELEASE));
  const skill = p.read(`${COPY}/ralph-loop/SKILL.md`);
  assert.match(skill, /If neither runs, this skill was copied without its program\. Say so/);
  assert.match(hooksOf(p), /warning +registration: \S+ralph-loop is the skill without its hooks, so none is live/);
  assert.match(hooksOf(p), /-> set up the project\. Run: ralph-loop init\./);
  assert.equal(p.ralph(['init']).code, 0);
  assert.match(hooksOf(p), /ok +registration: the hooks are registered/);
  assert.equal(p.sh(`node ${COPY}/ralph-loop/scripts/main.cjs status`).code, 0, 'the command of the skill runs');
  assert.equal(p.ralph(['uninit']).code, 0);
  const left = filesIn(p.dir).filter((path) => path.startsWith(`${COPY}/ralph-`));
  assert.deepEqual(left, [], 'a skill that init has completed does not stay in part');
});

test('every file of a skill is one that its document names, and the skill alone is what installers copy', () => {
  for (const skill of readdirSync(SKILLS_OF_RELEASE)) {
    const [first, ...beside] = filesIn(join(SKILLS_OF_RELEASE, skill));
    const text = readFileSync(join(SKILLS_OF_RELEASE, skill, first ?? ''), 'utf8');
    for (const path of beside) assert.ok(text.includes(path), `${skill}: ${path}`);
  }
});
