import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMMANDS } from '../../src/cli/commands.ts';
import { commandHelp } from '../../src/cli/help.ts';
import { paintedCells, wrapText } from '../../src/term/write-text.ts';
import { commitFolder } from '../support/git.ts';
import { type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { shownRows } from '../support/terminal/shown-rows.ts';
import { assertWholeWords, type Shown, wordsOfOne } from '../support/terminal/whole-words.ts';
import { agent, task } from './support/command-agent.ts';

/** What a user makes, runs and types; `$RALPH` is the program. */
interface Scene {
  readonly prepare?: (p: Project) => void;
  readonly script: string;
  readonly typed?: string;
  /** Something that has to be on the screen, so that the scene is what its name says. */
  readonly shows: RegExp;
}

const SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const RUNTIME = '.claude/context/runtime';
const STATE = `${RUNTIME}/ralph-state.json`;
const LOOK = 'for c in status list explain logs "logs --iterations" archive signs config; do $RALPH $c; done';
const STAND = 'for c in status list explain; do $RALPH $c; done';
const AT = '2026-03-01T10:00:00Z';
const UNTIL = '2099-03-01T10:00:00Z';

const begun = (p: Project, more: object = {}): void => {
  task(p, 'baseline: false\nvalidation: [{name: proof, run: npm test}]');
  const { code, stderr } = p.ralph(['start']);
  assert.equal(code, 0, stderr);
  p.write(STATE, { ...JSON.parse(p.read(STATE)), ...more });
};

const repository = (p: Project): void => {
  p.write('src/parser.js', 'exports.parse = (text) => text;\n');
  p.write('package.json', { name: 'x', scripts: { test: 'node --test', lint: 'true' } });
  commitFolder(p.dir);
};

const paused = (reason: string, message: string): object => ({
  status: 'paused',
  paused: { since: AT, reason, message, resumesAt: reason === 'rate-limited' ? UNTIL : null },
});

const LONG =
  'The import of the parser in src/parser/very/deep/folder/index.test.js fails because the module "left-pad" cannot be found.';

/** A run in plain lines whose agent is this script, and what is said of it afterwards. */
const run = (frontmatter: string, does: string, shows: RegExp, after = '$RALPH explain'): Scene => ({
  prepare: (p) => {
    p.write(
      'proof.sh',
      'test -e done || { seq 1 30; echo "MISMATCH: the parser gave 4 tokens for the whole of the input, 13 were expected"; exit 1; }\n',
    );
    task(p, frontmatter);
    repository(p);
    agent(p, does);
  },
  script: `$RALPH run --plain --agent ./agent.sh; ${after}`,
  shows,
});

/** Every state that a loop can end in, each shown as the loop that ended last. */
const ENDS =
  'complete stopped interrupted cancelled max-iterations no-progress-exhaustion circuit-open idle-limit budget-exhausted rate-limited blocked needs-verification paused-for-review timeout error';

const endedLoops = (p: Project): void => {
  begun(p);
  const { loopId, ...state } = JSON.parse(p.read(STATE));
  for (const as of ENDS.split(' ')) {
    const message = `It ended as ${as} after 3 iterations: ${LONG}`;
    const end = { at: AT, as, message, verified: false };
    p.write(`ends/${as}.json`, { ...state, iteration: 3, loopId, status: 'ended', ended: end });
  }
  p.sh(`rm ${STATE}`);
};

const PAUSES = 'operator interrupted rate-limited api-error contract-changed';

const pausedLoops = (p: Project): void => {
  begun(p);
  const state = JSON.parse(p.read(STATE));
  for (const reason of PAUSES.split(' ')) p.write(`pauses/${reason}.json`, { ...state, ...paused(reason, LONG) });
};

const SCENES: Readonly<Record<string, Scene>> = {
  'no loop': {
    script: `${LOOK}; for c in attach report "reset" worktree "plan" check doctor uninit; do $RALPH $c; done`,
    shows: /No loop has run/,
  },
  'mistyped commands': {
    script:
      'for c in staus "run --max-iteratons 3" "status --jsno" "start --budget" "run --max-cost much" "list extra words" "logs --since" "--loop ../x status" "resume --max-iterations 0" ""; do $RALPH $c; done',
    shows: /Did you mean status/,
  },
  'refused commands': {
    script:
      'for c in stop cancel pause "steer Look at the parser first, please" wake resume accept "archive show nothing" "tdd red" "tdd status" "tdd init" "plan check nothing.md" "run nothing/" "run" "start" "start --task nothing" "router start" "fleet status" "fleet add nothing" "fleet doctor" fleet "signs add" "worktree remove x" "statusline" "draft" "scaffold" "scaffold --preset nothing x" "config nothing" "report --out /nowhere/x/y.html"; do $RALPH $c; done',
    shows: /no loop/i,
  },
  'commands that an agent may not give': {
    prepare: begun,
    script:
      'export CLAUDECODE=1 RALPH_ACTIVE=1; for c in stop cancel pause "steer x" wake resume accept reset; do $RALPH $c; done',
    shows: /agent/,
  },
  'init, doctor and uninit': {
    prepare: repository,
    script: '$RALPH init; $RALPH init; $RALPH doctor; $RALPH config; $RALPH uninit',
    shows: /self-test/,
  },
  'a loop that was started': {
    prepare: begun,
    script: `${LOOK}; $RALPH check; $RALPH start; $RALPH worktree list`,
    shows: /no client has joined/,
  },
  'a loop that is steered': {
    prepare: begun,
    script:
      '$RALPH steer "Look at the parser first, please; the lexer can wait until tomorrow, as the tests say."; $RALPH pause; $RALPH status; $RALPH resume; $RALPH stop; $RALPH status; $RALPH explain; $RALPH reset',
    shows: /Stopped by the user/,
  },
  'a loop that waits': {
    prepare: (p) =>
      begun(p, {
        status: 'waiting',
        waiting: { since: AT, until: UNTIL, delayMs: 1, last: false, woken: false, seen: null },
      }),
    script: STAND,
    shows: /nothing to do/,
  },
  'a loop that verifies': {
    prepare: (p) => begun(p, { status: 'verifying', verifying: { since: AT } }),
    script: STAND,
    shows: /claims completion/,
  },
  'a loop whose state is corrupt': {
    prepare: (p) => p.write(STATE, '{"half":'),
    script: STAND,
    shows: /corrupt|cannot be used/,
  },
  'a loop of a newer version': {
    prepare: (p) => p.write(STATE, '{"schemaVersion":999}'),
    script: STAND,
    shows: /newer/,
  },
  'loops that are paused': {
    prepare: pausedLoops,
    script: `for r in ${PAUSES}; do cp pauses/$r.json ${STATE}; $RALPH status; $RALPH explain; done`,
    shows: /rate-limited/,
  },
  'loops that have ended': {
    prepare: endedLoops,
    script: `mkdir -p ${RUNTIME}/ralph-archive; for e in ${ENDS}; do cp ends/$e.json ${RUNTIME}/ralph-archive/2026-01-01T00-00-00Z-$e.json; $RALPH status; $RALPH explain; rm ${RUNTIME}/ralph-archive/*; done`,
    shows: /ended \(needs a review, /,
  },
  'changes that the user is asked about': {
    prepare: (p) => {
      begun(p);
      task(
        p,
        `validation: [{name: proof, run: npm test}, {name: more, run: "npm run ${'a-rather-long-word '.repeat(9)}"}]\nmax_iterations: 3`,
      );
    },
    script: '$RALPH status; $RALPH accept; $RALPH accept; $RALPH resume',
    typed: 'yes\n',
    shows: /Adopt these changes/,
  },
  'a run with a new goal': {
    prepare: repository,
    script: '$RALPH run new-goal',
    typed: '\n',
    shows: /Write a checklist named new-goal/,
  },
  'the question about the sandbox': {
    prepare: (p) => {
      p.sh('rm ../config/ralph-loop/config.json');
      task(p, 'max_iterations: 1\nvalidation: ["true"]');
    },
    script: '$RALPH run --plain --permission-mode bypassPermissions',
    typed: 'n\n',
    shows: /sandbox/,
  },
  'a run without a permission mode': {
    prepare: (p) => {
      task(p, 'max_iterations: 3\nvalidation: ["true"]');
      repository(p);
      p.write('loose.txt', 'x');
    },
    script: '$RALPH run',
    typed: '\n',
    shows: /\(acceptEdits\)/,
  },
  'a run of plain words': {
    prepare: repository,
    script: '$RALPH run "fix the failing tests of the parser, all of them, and keep its output as it is"',
    typed: '\n',
    shows: /Task fix the failing tests of the parser, .* Checks npm test/,
  },
  'a run that completes': run(
    'max_iterations: 3\nvalidation: [{name: proof, run: sh proof.sh}]',
    `echo 'I looked at **the parser** and \`parse()\`. ${LONG}'; echo x >> src/parser.js; [ -e once ] && touch done; touch once; echo ${SIGNAL}`,
    /Complete/,
    '$RALPH status; $RALPH explain; $RALPH logs; $RALPH list',
  ),
  'a run to its limit': run('max_iterations: 2', `echo "${LONG}"; echo x >> src/parser.js`, /max-iterations/),
  'a run that repeats itself': run(
    'max_iterations: 9\ncompletion_promise: DONE',
    `echo "${LONG}"`,
    /circuit|no-progress/,
  ),
  'a run whose claims are refused': run(
    'max_iterations: 9\nvalidation: [{name: proof, run: sh proof.sh}]',
    `echo "Done. ${LONG}"; echo ${SIGNAL}`,
    /MISMATCH/,
  ),
  'a run with nothing to do': run(
    'max_iterations: 9\nidle: {delay: 1s, max: 2}',
    'echo "<!-- ralph:state idle -->"',
    /idle/,
  ),
  'a run whose agent fails': run(
    'max_iterations: 2\nstop_on_error: true',
    `echo "${LONG}" >&2; exit 127`,
    /cannot be run/,
  ),
  'a run that takes too long': run(
    'max_iterations: 2\ntimeout: 1\nstop_on_error: true',
    'sleep 30',
    /timeout|timed out/,
  ),
  'a run without its agent': {
    ...run('max_iterations: 2', 'true', /error|not found/i),
    script: '$RALPH run --plain --agent ./nothing-of-this-name.sh; $RALPH explain',
  },
  'the live view of a run': {
    ...run(
      'max_iterations: 3\nvalidation: [{name: proof, run: sh proof.sh}]',
      `echo 'I looked at **the parser** and \`parse()\`. ${LONG}'; echo x >> src/parser.js; [ -e once ] && touch done; touch once; echo ${SIGNAL}`,
      /Complete/,
    ),
    script: '$RALPH run --agent ./agent.sh < /dev/tty',
  },
  'a draft': {
    prepare: repository,
    script:
      '$RALPH draft "fix the failing tests of the parser, all of them, and keep its output as it is"; $RALPH list; $RALPH check fix-failing-tests/RALPH.md',
    shows: /Read it, then start it/,
  },
  'a task with problems': {
    prepare: (p) => {
      p.write(
        'job/RALPH.md',
        '---\nmax_iterations: 999\npermission_mode: nothng\nvalidation: ["npm run nosuchscript", "nosuchprogram --all"]\nmax_iteratons: 4\ntimeout: soon\nguardrails: {forbid: ["(?=x)"]}\n---\n',
      );
      p.write('package.json', { name: 'x', scripts: {} });
    },
    script: '$RALPH check job/RALPH.md; $RALPH start --task job; $RALPH run job --plain; $RALPH draft job/',
    typed: 'l\n',
    shows: /permission_mode/,
  },
  'scaffolds of every kind': {
    prepare: repository,
    script:
      'for k in audit fix-tests plan checklist coverage migrate docs x; do $RALPH scaffold --preset $k the-$k; done; $RALPH scaffold plain; $RALPH list; $RALPH check plain/task.md; $RALPH config',
    shows: /plain/,
  },
  'a plan with problems': {
    prepare: (p) =>
      p.write(
        'PLAN.md',
        '# Plan\n\n- [ ] **Task 1: Make the parser**\n  - Scope: `src/parser`\n  - Depends: 7\n- [ ] **Task 1: Make the parser again, with every feature that the old one had**\n- [ ] no title\n- [ ] **Task 3: Write (blocked)**\n',
      ),
    script:
      '$RALPH plan check PLAN.md; $RALPH run PLAN.md --plan --plain; $RALPH check PLAN.md; $RALPH status; $RALPH list',
    shows: /Task 1/,
  },
  'a plan whose task fails': {
    prepare: (p) => {
      p.write(
        'PLAN.md',
        '# Plan\n\n- [ ] **Task 1: Make the parser**\n  - Scope: `work`\n  - Acceptance: it is there\n- [ ] **Task 2: Make the lexer**\n  - Scope: `work`\n  - Acceptance: it is there\n',
      );
      agent(p, `mkdir -p other work; echo x > other/stray-file.txt; echo y > work/1.txt; echo "${LONG}"`);
      p.write('.gitignore', 'runs.txt\n');
      repository(p);
      p.sh('git switch -qc plan/parser');
    },
    script:
      '$RALPH plan check PLAN.md; $RALPH run PLAN.md --plan --plain --agent ./agent.sh; $RALPH status; $RALPH explain; $RALPH list; $RALPH logs',
    // The project's checks are not added to the plan.
    typed: 'n\n',
    shows: /outside the scope of Task 1: other\/stray-file/,
  },
  'scenarios that are proved': {
    prepare: (p) => {
      task(p, 'max_iterations: 3');
      p.write('seen.sh', `seq 20; [ -e a.txt ] && exit; echo "MISMATCH: ${LONG}"; exit 1\n`);
    },
    script:
      '$RALPH tdd status; $RALPH tdd init --scenario "the parser reads a whole file with every kind of token in it" --command "sh seen.sh"; $RALPH tdd init; $RALPH tdd next; $RALPH tdd green; $RALPH tdd red; $RALPH tdd red; $RALPH tdd next; $RALPH tdd status; $RALPH tdd green; touch a.txt; $RALPH tdd green; $RALPH tdd refactored; $RALPH tdd next; $RALPH tdd red sc-009; $RALPH tdd status; $RALPH tdd nothing; $RALPH start --tdd',
    shows:
      /no red evidence for sc-001.*sc-001 is red: its command exits with 1\..*MISMATCH.*Then: .*tdd green.*not green: it still fails.*sc-001 is green.*refactored: .*every scenario of the list is complete/s,
  },
};

for (const [name, { prepare, script, typed, shows }] of someOf(Object.entries(SCENES), 9)) {
  test(`no line breaks inside a word: ${name}`, async (t) => {
    await assertWholeWords(name, shows, async (columns) => {
      const p = project(t);
      p.write('../config/ralph-loop/config.json', { sandbox: { mode: 'off' } });
      prepare?.(p);
      return { dir: p.dir, lines: await shownRows(p, script, columns, typed) };
    });
  });
}

test('no line of a help is wider than 80 columns or breaks inside a word', async () => {
  for (const load of Object.values(COMMANDS)) {
    const help = commandHelp(await load());
    for (const row of wrapText(help, 80).split('\n')) assert.ok(paintedCells(row) <= 80, row);
    assert.deepEqual(wrapText(help, 80), help, 'a help is laid out for 80 columns');
  }
});

test('control: a word in parts at either width is found', () => {
  const shown = (...lines: string[]): Shown => ({ dir: '/x', lines: lines.map((text) => ({ text, broken: false })) });
  const whole = shown('the whole parser');
  assert.deepEqual(wordsOfOne(shown('the whole par', 'ser'), whole), ['par', 'ser']);
  assert.deepEqual(wordsOfOne(whole, shown('the whole par', 'ser')), ['parser']);
  assert.deepEqual(wordsOfOne(shown('the whole', 'parser'), whole), []);
});
