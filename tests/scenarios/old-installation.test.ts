import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  OLD_COMMAND,
  OLD_FILES,
  OLD_HOOK,
  OLD_SETTINGS,
  OWN_FILES,
  writeAgentStudio,
} from '../support/agent-studio.ts';
import { commandHere } from '../support/command-here.ts';
import { type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

const SETTINGS = '.claude/settings.json';
const LOCAL = '.claude/settings.local.json';
const JOB = '---\nvalidation: [test -f DONE]\n---\n# Task\n\nWrite DONE.\n';

const stopHooks = (p: Project): string[] =>
  JSON.parse(p.read(SETTINGS)).hooks.Stop.flatMap(({ hooks }: { hooks: { command: string }[] }) =>
    hooks.map(({ command }) => command),
  );

const others = (p: Project): Record<string, unknown>[] =>
  (p.ralph(['doctor', '--json']).json['findings'] as Record<string, unknown>[]).filter(
    ({ check, level }) => check === 'other-stop-hooks' && level !== 'ok',
  );

const replacedIn = (p: Project): string[] =>
  readdirSync(join(p.dir, '.claude/ralph')).filter((name) => name.startsWith('replaced-'));

test('init names an old installation, exits with 1 and writes nothing without a yes', async (t) => {
  const p = project(t);
  writeAgentStudio(p);
  const tree = p.tree();
  const { code, stderr } = await commandHere(p, ['init']);
  assert.equal(code, 1);
  assert.match(stderr, /\.claude\/hooks\/ralph-stop-hook\.cjs.*\.claude\/ralph\/replaced-.*init --yes/s);
  assert.deepEqual(p.tree(), tree);
});

test('init --yes moves an old installation aside, and uninit leaves what is the user’s', async (t) => {
  const p = project(t);
  writeAgentStudio(p);
  const { code, json, stderr } = await commandHere(p, ['init', '--yes', '--json']);
  assert.equal(code, 0, stderr);
  const [folder = ''] = replacedIn(p);
  assert.deepEqual(
    (json['moved'] as string[]).sort(),
    Object.keys(OLD_FILES).sort(),
    'the answer names what was moved, and nothing else',
  );
  for (const [path, content] of Object.entries(OLD_FILES)) {
    assert.equal(p.read(path.replace('.claude/', `.claude/ralph/${folder}/`)), content);
    assert.notEqual(p.read(path), content);
  }
  for (const [path, content] of Object.entries(OWN_FILES)) assert.equal(p.read(path), content, path);
  assert.ok(!stopHooks(p).includes(OLD_COMMAND));
  assert.ok(stopHooks(p).includes('node .claude/hooks/lint.cjs'));
  assert.match(String(json['notes']), new RegExp(`${folder}.*1 entry`));
  assert.deepEqual(
    others(p).map(({ level }) => level),
    ['warning'],
    'the user’s own Stop hook is a warning',
  );
  assert.equal((await commandHere(p, ['init'])).code, 0, 'a second init has nothing to move');
  assert.equal((await commandHere(p, ['uninit'])).code, 0);
  for (const [path, content] of Object.entries(OWN_FILES)) assert.equal(p.read(path), content, path);
  assert.deepEqual(JSON.parse(p.read(SETTINGS)), { ...OLD_SETTINGS, hooks: { Stop: [OLD_SETTINGS.hooks.Stop[1]] } });
  assert.ok(existsSync(join(p.dir, '.claude/ralph', folder, 'hooks/ralph-stop-hook.cjs')));
});

test('a second old installation of a day goes into a folder of its own', async (t) => {
  const p = project(t);
  writeAgentStudio(p);
  await commandHere(p, ['init', '--yes']);
  await commandHere(p, ['uninit']);
  writeAgentStudio(p);
  assert.equal((await commandHere(p, ['init', '--yes'])).code, 0);
  assert.equal(replacedIn(p).length, 2);
});

test('a hook, a rule and a launcher that the user changed after init stay', async (t) => {
  const p = project(t);
  await commandHere(p, ['init']);
  p.write('.claude/skills/ralph-loop/SKILL.md', '# Mine\n');
  const { code, json } = await commandHere(p, ['init', '--yes', '--json']);
  assert.deepEqual([code, json['kept'], json['moved']], [0, ['.claude/skills/ralph-loop/SKILL.md'], []]);
});

/** Ways in which an old Stop hook is registered: file, settings and command. */
const OLD_HOOKS: Readonly<Record<string, readonly [file: string, settings: string, command: string]>> = {
  'in settings.json': ['.claude/hooks/ralph-stop-hook.cjs', SETTINGS, OLD_COMMAND],
  'in settings.local.json': ['.claude/hooks/ralph-stop-hook.cjs', LOCAL, OLD_COMMAND],
  'under another name': ['tools/loop.cjs', SETTINGS, 'node "$CLAUDE_PROJECT_DIR"/tools/loop.cjs'],
  'in the user’s settings': ['../home/loop.cjs', '../home/.claude/settings.json', 'node ~/loop.cjs'],
};

for (const [how, [file, settings, command]] of someOf(Object.entries(OLD_HOOKS), 2)) {
  test(`doctor and the starts refuse an old Stop hook ${how}, recognised by its content`, (t) => {
    const p = project(t);
    p.write('.claude/ralph/PROMPT.md', JOB);
    p.write('job/RALPH.md', JOB);
    p.write(file, OLD_HOOK);
    p.write(settings, { hooks: { Stop: [{ hooks: [{ type: 'command', command }] }] } });
    const [finding] = others(p);
    assert.equal(finding?.['level'], 'error');
    assert.match(String(finding?.['message']), /loop\.cjs|ralph-stop-hook\.cjs/);
    const starts = [
      ['start'],
      ['start', '--launch', '--headless', '--permission-mode', 'plan'],
      ['run', 'job', '--yes'],
    ];
    for (const words of settings === SETTINGS ? starts : starts.slice(0, 1)) {
      const { code, stderr } = p.ralph(words);
      assert.equal(code, 1, words.join(' '));
      assert.match(stderr, /Stop hook of another loop/, words.join(' '));
      assert.ok(!p.has('.claude/context/runtime/ralph-state.json'));
    }
    if (settings !== LOCAL) return;
    const { code, stderr } = p.ralph(['run', 'job', '--agent', 'touch DONE', '--max-iterations', '1', '--yes']);
    assert.ok(p.has('DONE'), `another agent has no hooks: ${code} ${stderr}`);
  });
}

test('control: our own hook under a foreign name is no hook of another loop', async (t) => {
  const p = project(t);
  await commandHere(p, ['init']);
  assert.deepEqual(others(p), []);
  p.write('.claude/ralph/PROMPT.md', JOB);
  assert.equal((await commandHere(p, ['start'])).code, 0);
});

test('after init the skill folder holds every file that its document lists, and they work there', async (t) => {
  const p = project(t);
  await commandHere(p, ['init']);
  const skill = '.claude/skills/ralph-loop';
  for (const file of [
    'SKILL.md',
    'scripts/main.cjs',
    'hooks/pre-execute.cjs',
    'hooks/post-execute.cjs',
    'schemas/input.schema.json',
    'schemas/output.schema.json',
    'templates/implementation-template.md',
    'rules/ralph-loop.md',
  ]) {
    assert.ok(p.has(`${skill}/${file}`), file);
  }
  const run = (file: string, input: string) => p.sh(`"${process.execPath}" ${skill}/hooks/${file}`, input).code;
  assert.equal(run('pre-execute.cjs', '{"maxIterations": 3}'), 0);
  assert.equal(run('pre-execute.cjs', '{"maxIterations": "x"}'), 2);
  const text = p.read(`${skill}/SKILL.md`);
  for (const named of ['rules/ralph-loop.md', 'templates/implementation-template.md']) assert.ok(text.includes(named));
});

for (const command of someOf(['status', 'reset', 'config'], 3)) {
  test(`main.cjs ${command} answers in a pipe with one line of JSON that post-execute.cjs takes`, async (t) => {
    const p = project(t);
    await commandHere(p, ['init']);
    const skill = '.claude/skills/ralph-loop';
    const main = `"${process.execPath}" ${skill}/scripts/main.cjs ${command}`;
    const { stdout } = p.sh(main);
    assert.equal(stdout.trim().split('\n').length, 1);
    assert.equal(typeof JSON.parse(stdout), 'object');
    const { code, stderr } = p.sh(`${main} | "${process.execPath}" ${skill}/hooks/post-execute.cjs`);
    assert.equal(code, 0, stderr);
    const control = p.ralph([command]).stdout;
    assert.throws(() => JSON.parse(control), 'control: the command ralph-loop answers a person');
  });
}
