import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { longTest, someOf } from '../support/short-form.ts';
import { broken, FIX, ISSUE } from './support/broken-project.ts';
import type { GhIssue } from './support/gh-stand-in.ts';

const draft = '.ralph/fix-issue-7/RALPH.md';

/** Runs the loop for an issue and returns what everybody can read then. */
function published(t: TestContext, work: string, issue: GhIssue = ISSUE): readonly string[] {
  const { gh, run } = broken(t, [issue], work);
  const { code, stdout, stderr } = run(['--issue', '7', '--integrate', 'pr']);
  assert.equal(code, 0, stdout + stderr);
  const { pulls, comments } = gh.state();
  return [...pulls, ...comments].map(({ body }) => body);
}

/** The parts of a Markdown text that are no code, in which GitHub finds mentions and references. */
const prose = (text: string): string => text.replace(/^```\n[\s\S]*?^```$/gm, '').replace(/`[^`\n]*`/g, '');

test('what an agent and a project say in a pull request or comment mentions and closes nothing', (t) => {
  const names = '@team-#12-fixes#3\u202e\u0007`.cjs';
  const work = `printf 1 > '${names}'\n${FIX}git add -A; git commit -qm 'Add @team, fixes #3'\n`;
  const texts = published(t, work);
  assert.equal(texts.length, 2);
  for (const text of texts) {
    assert.doesNotMatch(
      prose(text),
      /@|#\d|\b(?:fix|close|resolve)[sd]?\b(?! https:\/\/example\.invalid\/o\/r\/issues\/7$)/im,
    );
    assert.doesNotMatch(text, /[^\n\P{Cc}]|\p{Cf}/u);
  }
  assert.match(texts[0] ?? '', /^```\n[^`]*@team/m, 'the control: the name of the file is there');
});

longTest('a check that names a package mentions nobody of that name', (t) => {
  const { p, gh, run } = broken(t, [ISSUE]);
  p.write('package.json', { scripts: { test: 'node --test' }, workspaces: ['.'] });
  p.write('.claude/ralph/config.yml', 'validation:\n  - npm test # @acme/web | fixes #3\n');
  p.sh('git add -A; git -c user.name=t -c user.email=t@t commit -qm Settings');
  const { code, stdout, stderr } = run(['--issue', '7', '--integrate', 'pr']);
  assert.equal(code, 0, stdout + stderr);
  const [{ body = '' } = {}] = gh.state().pulls;
  assert.match(body, /\| <code>npm test.*<\/code> \| failed \| passed \|/);
  assert.doesNotMatch(prose(body), /@acme|#3/);
});

test('a pull request that a person has closed meanwhile is not opened again', (t) => {
  const { gh, run } = broken(t, [ISSUE]);
  const killed = run(['--issue', '7', '--integrate', 'pr'], { GH_KILL: 'pr create after' });
  assert.notEqual(killed.code, 0, 'the control: it was killed');
  const state = gh.state();
  assert.equal(state.pulls.length, 1);
  writeFileSync(
    gh.env.GH_STATE,
    JSON.stringify({ ...state, pulls: state.pulls.map((one) => ({ ...one, state: 'CLOSED' })) }),
  );
  const { code, stderr } = run(['--resume']);
  assert.equal(code, 0, stderr);
  assert.deepEqual([gh.state().pulls.length, gh.state().comments.length], [1, 1]);
});

const VIEWS = ['issue view 2 before', 'issue view 2 after'];
for (const at of someOf(VIEWS, 2)) {
  test(`killed at "${at}" and resumed, there is one comment`, (t) => {
    const { gh, run } = broken(t, [ISSUE]);
    assert.notEqual(run(['--issue', '7', '--integrate', 'pr'], { GH_KILL: at }).code, 0, 'the control: it was killed');
    const { code, stdout, stderr } = run(['--resume']);
    assert.equal(code, 0, stdout + stderr);
    assert.deepEqual([gh.state().pulls.length, gh.state().comments.length], [1, 1]);
  });
}

test('a closed or moved issue, and a pull request, are refused with what they are', (t) => {
  const url = 'https://example.invalid/o/r';
  for (const [issue, words, said] of [
    [{ ...ISSUE, state: 'CLOSED' }, '7', /The issue 7 is closed\. Reopen it: gh issue reopen 7/],
    [{ ...ISSUE, url: `${url}/pull/7` }, '7', /7 is a pull request, .*\/pull\/7\. Name an issue\./],
    [
      { ...ISSUE, url: 'https://example.invalid/other/r/issues/7' },
      `${url}/issues/7`,
      /now https:\/\/example\.invalid\/other\/r\/issues\/7/,
    ],
  ] as const) {
    const { p, gh, run } = broken(t, [issue]);
    const { code, stderr } = run(['--issue', words]);
    assert.equal(code, 1, stderr);
    assert.match(stderr, said);
    assert.equal(p.has(draft), false);
    assert.deepEqual(gh.state().comments, []);
  }
});

test('what gh complains is said without control characters, and its warnings and colours change nothing', (t) => {
  const { p, run, draft: drafted } = broken(t, [ISSUE]);
  const complaint = 'HTTP 403: API rate limit exceeded \u001b[31m\u202e\u0007';
  const { code, stderr } = run(['--issue', '7'], { GH_FAILS: '4', GH_SAYS: complaint });
  assert.equal(code, 1);
  assert.match(stderr, /gh issue view failed: HTTP 403: API rate limit exceeded/);
  assert.doesNotMatch(stderr, /[\u001b\u202e\u0007]/);
  assert.equal(p.has(draft), false);
  const noise = { GH_SAYS: 'A new release of gh is available', CLICOLOR_FORCE: '1', GH_FORCE_TTY: '1' };
  assert.match(drafted(noise).stderr, /no user has read it/);
  assert.ok(p.has(draft));
});

test('of many issues the oldest twenty are taken, the others are counted, and no dry run starts one', (t) => {
  const labels = ['ralph'];
  const many = Array.from({ length: 23 }, (_, at) => ({ ...ISSUE, number: 23 - at, labels }));
  const { p, gh, run } = broken(t, many);
  assert.match(run(['--issues', 'ralph', '--dry-run']).stderr, /--dry-run applies to a single task/);
  assert.deepEqual(gh.state().calls, []);
  const { stderr } = p.ralph(['run', '--issues', 'ralph', '--agent', './agent.sh'], gh.env);
  assert.match(stderr, /3 more issues with the label ralph wait for a later run/);
  assert.deepEqual(
    [p.has('.ralph/fix-issue-20'), p.has('.ralph/fix-issue-21'), p.has('agent-ran')],
    [false, false, false],
  );
  assert.equal(gh.state().calls.length, 21, 'what there is no place for is not read');
});

test('an issue that gh does not give is left out by its number, and four refuse the run', (t) => {
  const labels = ['ralph'];
  const pulls = [8, 9, 10, 11].map((number) => ({
    ...ISSUE,
    labels,
    number,
    url: `https://x.invalid/o/r/pull/${number}`,
  }));
  const { p, gh } = broken(t, [ISSUE, ...pulls.slice(0, 3)]);
  const one = p.ralph(['run', '--issues', 'ralph', '--agent', './agent.sh'], gh.env);
  assert.match(one.stderr, /Issue #8 is left out: 8 is a pull request/);
  assert.doesNotMatch(one.stderr, /for a later run/);
  assert.match(one.stderr, /no user has read it/, 'the other issue has its task');
  const all = broken(t, [ISSUE, ...pulls]);
  const refused = all.run(['--issues', 'ralph']);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /11 is a pull request/);
  assert.equal(all.p.has(draft), false);
});

test('an issue can be named as users paste it', (t) => {
  const url = 'https://example.invalid/o/r/issues/7';
  for (const pasted of someOf(
    ['#7', `${url}/`, `${url}#issuecomment-123`, `${url}?notification_referrer_id=1#top`],
    2,
  )) {
    const { p, gh } = broken(t, [ISSUE]);
    const { stderr } = p.ralph(['run', `--issue=${pasted}`, '--agent', './agent.sh'], gh.env);
    assert.match(stderr, /no user has read it/, pasted);
    assert.equal(gh.state().calls[0]?.[2], pasted.startsWith('#') ? '7' : url);
  }
});
