import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandHere } from '../support/command-here.ts';
import { DIST, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

const SETTINGS = '.claude/settings.json';
const LINT = { type: 'command', command: 'npm run lint' };

/** Settings as people and programs write them. */
const STYLES: Record<string, string> = {
  'two spaces': '{\n  "model": "opus",\n  "permissions": {\n    "allow": ["Bash(npm test)"]\n  }\n}\n',
  'four spaces': '{\n    "env": {\n        "A": "1"\n    }\n}\n',
  tabs: '{\n\t"env": {\n\t\t"A": "1"\n\t},\n\t"model": "opus"\n}\n',
  'CRLF line ends': '{\r\n  "env": {\r\n    "A": "1"\r\n  }\r\n}\r\n',
  'no final newline': '{\n  "model": "opus"\n}',
  'a byte-order mark': '\uFEFF{\n  "model": "opus"\n}\n',
  'one line': '{"model":"opus","env":{"A":"1"}}',
  'one spaced line': '{ "model": "opus", "env": { "A": "1" } }\n',
  'an empty object': '{}',
  'an empty object over two lines': '{\n}\n',
  'an empty file': '',
  'blank lines only': '\n\n',
  'an empty list of hooks': '{\n  "hooks": {\n    "Stop": []\n  }\n}\n',
  'an empty object of hooks': '{\n  "hooks": {}\n}\n',
  'hooks of the user': JSON.stringify({ hooks: { Stop: [{ hooks: [LINT] }], PreToolUse: [] }, model: 'opus' }, null, 2),
  'hooks of the user with tabs': `${JSON.stringify({ hooks: { SessionStart: [{ matcher: 'startup', hooks: [LINT] }] } }, null, '\t')}\n`,
  'hooks of the user on one line': JSON.stringify({ hooks: { Stop: [{ hooks: [LINT] }] } }),
  'umlauts and escapes': '{\n  "env": {\n    "NAME": "Jürgen \\u00e4 \\" 🙂"\n  }\n}\n',
};

for (const [style, before] of someOf(Object.entries(STYLES), 4)) {
  test(`settings with ${style} keep every byte beside the hooks, and uninit restores them byte for byte`, async (t) => {
    const p = project(t);
    p.write(SETTINGS, before);
    const tree = p.tree();
    const init = await commandHere(p, ['init']);
    assert.equal(init.code, 0, init.stderr);
    const after = p.read(SETTINGS);
    const plain = before.replace('\uFEFF', '').trim();
    const [was, is] = [JSON.parse(plain || '{}'), JSON.parse(after.replace('\uFEFF', ''))];
    const { hooks, ...others } = is;
    const { hooks: theirs = {}, ...otherKeys } = was;
    assert.deepEqual(others, otherKeys);
    for (const event of ['SessionStart', 'UserPromptSubmit', 'Stop', 'StopFailure']) {
      const kept = theirs[event] ?? [];
      assert.deepEqual(hooks[event].slice(0, kept.length), kept, `${event} keeps what was there, first`);
      assert.equal(hooks[event].length, kept.length + 1);
    }
    assert.ok(isWithin(before, after), 'what was there is a subsequence of what is there');
    if (before.includes('\r\n')) assert.ok(!/[^\r]\n/.test(after), 'every line ends as the file does');
    if (before.includes('\t')) assert.ok(!/^ /m.test(after), 'indented with tabs alone');
    const uninit = await commandHere(p, ['uninit']);
    assert.equal(uninit.code, 0, uninit.stderr);
    assert.deepEqual(p.tree(), tree);
  });
}

/** Whether `text` is what is left of `whole` when some of it is cut out. */
function isWithin(text: string, whole: string): boolean {
  let at = 0;
  for (const char of whole) if (text.startsWith(char, at)) at += char.length;
  return at === text.length;
}

test('control: detects a settings file that init reformats', () => {
  assert.ok(isWithin('{"a":1}', '{"a":1,"b":2}'));
  assert.ok(!isWithin('{"a":1}', '{\n  "b": 2\n}'));
});

test('a project without any .claude is empty again after uninit', async (t) => {
  const p = project(t);
  assert.deepEqual(p.tree(), {});
  const { json } = await commandHere(p, ['init', '--json']);
  assert.equal(json['settings'], 'created');
  assert.ok(statSync(join(p.dir, '.claude/ralph/ralph-audit.sh')).mode & 0o100, 'the launcher can be run');
  assert.equal((await commandHere(p, ['uninit'])).code, 0);
  assert.deepEqual(p.tree(), {});
});

test('init puts the bundle, the hooks, the templates and the memory files in their places', async (t) => {
  const p = project(t);
  await commandHere(p, ['init']);
  for (const path of [
    '.claude/skills/ralph-loop/SKILL.md',
    '.claude/skills/ralph-loop/scripts/main.cjs',
    '.claude/skills/ralph-loop/scripts/ralph-main.cjs',
    '.claude/skills/ralph-draft/SKILL.md',
    '.claude/skills/ralph-draft/references/configuration-cookbook.md',
    '.claude/hooks/ralph-stop-hook.cjs',
    '.claude/hooks/ralph-session-start.cjs',
    '.claude/hooks/ralph-user-prompt-submit.cjs',
    '.claude/hooks/ralph-pre-tool-use.cjs',
    '.claude/hooks/ralph-post-tool-use.cjs',
    '.claude/hooks/ralph-stop-failure.cjs',
    '.claude/ralph/PROMPT.md',
    '.claude/ralph/guardrails.md',
    '.claude/ralph/ralph-audit.sh',
    '.claude/ralph/ralph-audit.bat',
    '.claude/hooks/ralph-router-tool-use.cjs',
  ]) {
    assert.ok(p.has(path), path);
  }
  assert.equal(p.read('.claude/context/runtime/.gitignore'), '*\n');
});

test('a second init changes nothing', async (t) => {
  const p = project(t);
  await commandHere(p, ['init']);
  const tree = p.tree();
  const { json, code } = await commandHere(p, ['init', '--json']);
  assert.equal(code, 0);
  assert.deepEqual([json['created'], json['updated'], json['kept'], json['settings']], [[], [], [], 'unchanged']);
  assert.deepEqual(p.tree(), tree);
});

test('tool hooks are not registered in settings.json, where they would slow every session down', async (t) => {
  const p = project(t);
  await commandHere(p, ['init']);
  const { hooks } = JSON.parse(p.read(SETTINGS));
  assert.deepEqual(Object.keys(hooks), ['SessionStart', 'UserPromptSubmit', 'Stop', 'StopFailure']);
  assert.equal(hooks.Stop[0].hooks[0].timeout, 86_400);
  assert.ok(!p.read(SETTINGS).includes('BLOCK_CAP'), 'other Stop hooks keep their cap');
});

test('init and uninit keep and name what the user wrote before or changed since', async (t) => {
  const p = project(t);
  p.write('.claude/ralph/PROMPT.md', '# My task\n');
  const first = await commandHere(p, ['init', '--json']);
  assert.deepEqual(first.json['kept'], ['.claude/ralph/PROMPT.md']);
  p.write('.claude/ralph/guardrails.md', '### Sign: mine\n');
  const second = await commandHere(p, ['init', '--json']);
  assert.deepEqual(second.json['kept'], ['.claude/ralph/PROMPT.md', '.claude/ralph/guardrails.md']);
  const { json } = await commandHere(p, ['uninit', '--json']);
  assert.deepEqual(json['kept'], ['.claude/ralph/guardrails.md']);
  assert.equal(p.read('.claude/ralph/PROMPT.md'), '# My task\n');
  assert.equal(p.read('.claude/ralph/guardrails.md'), '### Sign: mine\n');
  assert.deepEqual(
    Object.keys(p.tree()),
    ['.claude/', '.claude/ralph/', '.claude/ralph/PROMPT.md', '.claude/ralph/guardrails.md'].sort(),
  );
});

test('a hook that was changed after init is kept, with a warning that loops may not work', async (t) => {
  const p = project(t);
  await commandHere(p, ['init']);
  p.write('.claude/hooks/ralph-stop-hook.cjs', 'process.exit(0)\n');
  const { json } = await commandHere(p, ['init', '--json']);
  assert.match(String(json['notes']), /init left your changed \S+ralph-stop-hook\.cjs alone/);
  assert.equal(p.read('.claude/hooks/ralph-stop-hook.cjs'), 'process.exit(0)\n');
});

test('an unchanged file of an older version is updated', async (t) => {
  const p = project(t);
  await commandHere(p, ['init']);
  const manifest = JSON.parse(p.read('.claude/ralph/.install.json'));
  const path = '.claude/hooks/ralph-stop-hook.cjs';
  const now = p.read(path);
  p.write(path, '// an older version\n');
  assert.deepEqual(
    (await commandHere(p, ['init', '--json'])).json['kept'],
    [path],
    'the control: without the manifest it is the user’s',
  );
  manifest.files[path] = createHash('sha256').update('// an older version\n').digest('hex');
  p.write('.claude/ralph/.install.json', manifest);
  assert.deepEqual((await commandHere(p, ['init', '--json'])).json['updated'], [path]);
  assert.equal(p.read(path), now);
});

test('keys that the user adds after init survive uninit, and so do hooks beside ours', async (t) => {
  const p = project(t);
  p.write(SETTINGS, { model: 'opus' });
  await commandHere(p, ['init']);
  const settings = JSON.parse(p.read(SETTINGS));
  settings.env = { A: '1' };
  settings.hooks.Stop.unshift({ hooks: [LINT] });
  settings.hooks.SessionStart[0].hooks.push(LINT);
  p.write(SETTINGS, settings);
  const { json } = await commandHere(p, ['uninit', '--json']);
  assert.equal(json['settings'], 'restored');
  assert.deepEqual(JSON.parse(p.read(SETTINGS)), {
    model: 'opus',
    hooks: { SessionStart: [{ hooks: [LINT] }], Stop: [{ hooks: [LINT] }] },
    env: { A: '1' },
  });
});

test('a settings file that init made and the user then used is kept without our hooks', async (t) => {
  const p = project(t);
  await commandHere(p, ['init']);
  p.write(SETTINGS, { ...JSON.parse(p.read(SETTINGS)), model: 'opus' });
  await commandHere(p, ['init']);
  await commandHere(p, ['uninit']);
  assert.deepEqual(JSON.parse(p.read(SETTINGS)), { model: 'opus' });
});

test('init restores a hook that the user removed, and uninit still removes all of them', async (t) => {
  const p = project(t);
  p.write(SETTINGS, '{\n  "model": "opus"\n}\n');
  await commandHere(p, ['init']);
  const settings = JSON.parse(p.read(SETTINGS));
  delete settings.hooks.Stop;
  p.write(SETTINGS, settings);
  assert.equal((await commandHere(p, ['init', '--json'])).json['settings'], 'changed');
  assert.equal(JSON.parse(p.read(SETTINGS)).hooks.Stop.length, 1);
  assert.equal(JSON.parse(p.read(SETTINGS)).hooks.SessionStart.length, 1);
  await commandHere(p, ['uninit']);
  assert.deepEqual(JSON.parse(p.read(SETTINGS)), { model: 'opus' });
});

test('uninit removes hooks whose manifest was lost, and leaves a broken file without ours alone', async (t) => {
  const p = project(t);
  await commandHere(p, ['init']);
  rmSync(join(p.dir, '.claude/ralph'), { recursive: true });
  await commandHere(p, ['init']);
  assert.match((await commandHere(p, ['uninit'])).stdout, /\.claude\/settings\.json: hooks removed\.\n/);
  assert.deepEqual(JSON.parse(p.read(SETTINGS)), {});
  await commandHere(p, ['init']);
  const manifest = JSON.parse(p.read('.claude/ralph/.install.json'));
  p.write('.claude/ralph/.install.json', { ...manifest, settings: null });
  p.write(SETTINGS, '{ "model": ');
  assert.equal((await commandHere(p, ['uninit'])).code, 0);
  assert.equal(p.read(SETTINGS), '{ "model": ');
});

for (const manifest of someOf(['and its manifest', 'without its manifest'], 2)) {
  test(`a registration of an older version, ${manifest}, is replaced and not doubled`, async (t) => {
    const p = project(t);
    p.write(SETTINGS, { model: 'opus' });
    await commandHere(p, ['init']);
    const wanted = p.read(SETTINGS);
    p.write(SETTINGS, wanted.replaceAll('exec ', 'exec env OLD=1 '));
    if (manifest.startsWith('without')) rmSync(join(p.dir, '.claude/ralph/.install.json'));
    assert.equal((await commandHere(p, ['init', '--json'])).json['settings'], 'changed');
    assert.deepEqual(JSON.parse(p.read(SETTINGS)), JSON.parse(wanted));
    await commandHere(p, ['uninit']);
    assert.deepEqual(JSON.parse(p.read(SETTINGS)), { model: 'opus' });
  });
}

test('init from the bundle in the project copies no bundle, and uninit leaves it alone', (t) => {
  const p = project(t);
  cpSync(DIST, join(p.dir, '.claude/skills/ralph-loop'), { recursive: true });
  const tree = p.tree();
  const main = '.claude/skills/ralph-loop/scripts/main.cjs';
  assert.equal(p.sh(`"${process.execPath}" ${main} init`).code, 0);
  assert.ok(p.has('.claude/hooks/ralph-stop-hook.cjs'));
  p.sh(`"${process.execPath}" ${main} uninit`);
  assert.deepEqual(p.tree(), tree);
});

test('init from elsewhere and then from the copy keeps the copy, and uninit from the copy removes it too', async (t) => {
  const p = project(t);
  await commandHere(p, ['init']);
  const main = '.claude/skills/ralph-loop/scripts/main.cjs';
  assert.equal(p.sh(`"${process.execPath}" ${main} init --json`).json['settings'], 'unchanged');
  assert.ok(p.has(main));
  p.sh(`"${process.execPath}" ${main} uninit`);
  assert.deepEqual(p.tree(), {});
});

for (const state of ['without', 'with'] as const) {
  test(`uninit by the installed copy ends on one line ${state} a code cache`, async (t) => {
    const p = project(t);
    await commandHere(p, ['init']);
    if (state === 'with') mkdirSync(join(p.env['XDG_STATE_HOME'] ?? '', 'ralph-loop'), { recursive: true });
    const main = `"${process.execPath}" .claude/skills/ralph-loop/scripts/main.cjs`;
    assert.equal(p.sh(`${main} status`).code, 0);
    const { code, stderr } = p.sh(`${main} uninit`);
    assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual(p.tree(), {});
  });
}

test('init writes at most 52 files and 3 MB, and names each', async (t) => {
  const p = project(t);
  const { json } = await commandHere(p, ['init', '--json']);
  const files = Object.entries(p.tree()).filter(([path]) => !path.endsWith('/'));
  assert.ok(files.length <= 52, `${files.length} files`);
  const bytes = files.reduce((sum, [path]) => sum + statSync(join(p.dir, path)).size, 0);
  assert.ok(bytes <= 3_000_000, `${bytes} bytes`);
  const unnamed = files.map(([path]) => path).filter((path) => !(json['created'] as string[]).includes(path));
  assert.deepEqual(unnamed.sort(), ['.claude/ralph/.install.json', SETTINGS]);
});

test('init registers nothing if the plugin is enabled, removes its registration, and doctor finds both', async (t) => {
  const p = project(t);
  const user = join(p.home, '.claude', 'settings.json');
  mkdirSync(join(p.home, '.claude'));
  await commandHere(p, ['init']);
  writeFileSync(user, JSON.stringify({ enabledPlugins: { 'ralph-loop@ralph': true } }));
  const registration = (): Record<string, unknown>[] =>
    (p.ralph(['doctor', '--json']).json['findings'] as Record<string, unknown>[]).filter(
      ({ check }) => check === 'registration',
    );
  assert.match(String(registration()[0]?.['message']), /the plugin registers the hooks, and so does .*settings\.json/);
  const { json } = await commandHere(p, ['init', '--json']);
  assert.match(String(json['notes']), /plugin ralph-loop is enabled here and registers the hooks/);
  assert.deepEqual([json['settings'], p.has(SETTINGS)], ['removed', false]);
  assert.deepEqual(registration()[0], {
    check: 'registration',
    level: 'ok',
    message: 'the plugin registers the hooks.',
    fix: null,
    fixable: false,
  });
  p.write('.claude/settings.local.json', { enabledPlugins: { 'ralph-loop@ralph': false } });
  assert.match((await commandHere(p, ['init'])).stdout, /settings\.json: created\./);
  p.write(SETTINGS, { ...JSON.parse(p.read(SETTINGS)), model: 'opus' });
  p.write('.claude/settings.local.json', {});
  assert.match((await commandHere(p, ['init'])).stdout, /settings\.json: hooks removed\./);
  assert.deepEqual(JSON.parse(p.read(SETTINGS)), { model: 'opus' });
});

test('uninit without init says so and removes nothing', async (t) => {
  const p = project(t);
  p.write('.claude/hooks/ralph-stop-hook.cjs', '// mine\n');
  const { code, stderr } = await commandHere(p, ['uninit']);
  assert.equal(code, 1);
  assert.match(stderr, /was not set up by init/);
  assert.ok(p.has('.claude/hooks/ralph-stop-hook.cjs'));
});

test('uninit refuses while a loop is live, and keeps what loops have left', async (t) => {
  const p = project(t);
  await commandHere(p, ['init']);
  p.write('.claude/ralph/PROMPT.md', '# Task\nDo it.\n');
  assert.equal(p.ralph(['start']).code, 0);
  const refused = await commandHere(p, ['uninit']);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /a loop is live in .*ralph-loop cancel/);
  assert.ok(p.has('.claude/hooks/ralph-stop-hook.cjs'));
  p.ralph(['cancel']);
  const { json } = await commandHere(p, ['uninit', '--json']);
  assert.deepEqual(json['kept'], ['.claude/ralph/PROMPT.md', '.claude/context/runtime/.gitignore']);
  assert.ok(p.has('.claude/context/memory/learnings.md'), 'what the loop taught');
  assert.ok(p.has('.claude/context/runtime/ralph-archive'));
});

test('init refuses to change files of a live loop, which would restore half of them', async (t) => {
  const p = project(t);
  await commandHere(p, ['init']);
  p.write('.claude/ralph/PROMPT.md', '# Task\nDo it.\n');
  assert.equal(p.ralph(['start']).code, 0);
  assert.equal((await commandHere(p, ['init'])).code, 0, 'control: there is nothing to change');
  // An older version of a file, as its manifest says.
  const older = '// older\n';
  const manifest = JSON.parse(p.read('.claude/ralph/.install.json'));
  const hook = '.claude/hooks/ralph-stop-hook.cjs';
  p.write(hook, older);
  const digest = createHash('sha256').update(older).digest('hex');
  p.write('.claude/ralph/.install.json', { ...manifest, files: { ...manifest.files, [hook]: digest } });
  const before = p.tree();
  const refused = await commandHere(p, ['init']);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /a loop is live in .*ralph-loop cancel/);
  assert.deepEqual(p.tree(), before);
  const { findings } = p.ralph(['doctor', '--fix', '--json']).json as { findings: { message: string }[] };
  assert.ok(findings.some(({ message }) => message.includes(hook)));
  assert.equal(p.read(hook), older);
  p.ralph(['cancel']);
  assert.equal((await commandHere(p, ['init'])).code, 0);
  assert.notEqual(p.read(hook), older);
});

test('init sets up a project in which a loop waits for its client, as start advises', async (t) => {
  const p = project(t);
  p.write('.claude/ralph/PROMPT.md', '# Task\nDo it.\n');
  assert.match(p.ralph(['start']).stderr, /The hooks are not installed .*Install them: ralph-loop init\./);
  const { code, stderr } = await commandHere(p, ['init']);
  assert.equal(code, 0, stderr);
  assert.equal(p.ralph(['status', '--json']).json['active'], true);
  assert.match(
    (await commandHere(p, ['uninit'])).stderr,
    /a loop is live/,
    'control: what is set up stays while it is live',
  );
});

test('init in a directory below a project sets up that directory', async (t) => {
  const p = project(t);
  await commandHere(p, ['init']);
  p.write('packages/one/x', '');
  assert.equal(
    p.ralph(['init', '--json'], {}, join(p.dir, 'packages/one')).json['projectDir'],
    join(p.dir, 'packages/one'),
  );
  assert.equal((await commandHere(p, ['init', '--project', 'packages/one', '--json'])).json['settings'], 'unchanged');
});

test('uninit takes the schema of drafts away where init has never run', async (t) => {
  const p = project(t);
  assert.match((await commandHere(p, ['uninit'])).stderr, /was not set up by init/, 'control');
  p.ralph(['draft', 'fix the tests']);
  const { code, stdout } = await commandHere(p, ['uninit']);
  assert.deepEqual([code, stdout.split('.')[0]], [0, '2 files removed']);
  assert.deepEqual([p.has('.ralph'), p.has('fix-tests/RALPH.md')], [false, true]);
});

test('uninit takes the schema of drafts away, unless the folder has a file of the user', async (t) => {
  for (const own of [null, 'mine.json', '.gitignore']) {
    const keeps = own !== null;
    const p = project(t);
    p.ralph(['draft', 'fix the tests']);
    p.sh('rm -rf fix-tests');
    assert.ok(p.has('.ralph/.schemas/ralph-md-frontmatter.schema.json'));
    await commandHere(p, ['init']);
    if (keeps) p.write(`.ralph/.schemas/${own}`, '{}\n');
    assert.equal((await commandHere(p, ['uninit'])).code, 0);
    assert.equal(p.has('.ralph/.schemas/ralph-md-frontmatter.schema.json'), keeps);
    assert.equal(p.has('.ralph'), keeps);
  }
});
