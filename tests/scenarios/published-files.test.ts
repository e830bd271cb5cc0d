import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { Ajv, type ValidateFunction } from 'ajv';
import { commitFolder } from '../support/git.ts';
import { DIST, type Project, project } from '../support/project.ts';

const MAIN = `node '${join(DIST, 'scripts', 'main.cjs')}'`;
const TASK = '.claude/ralph/PROMPT.md';
const DONE = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';

/** Which published schema describes a file, by its path. A file of lines is described line by line. */
const SCHEMAS: readonly (readonly [RegExp, string])[] = [
  [/\.ralph-runner(-archive\/[^/]+)?\/status\.json$/, 'run-status'],
  [/\.ralph-runner(-archive\/[^/]+)?\/iterations\.jsonl$/, 'task-iteration-record'],
  [/\/iterations\/\d+\.json$/, 'loop-iteration'],
  [/\.ralph\/[^/]+\/state\.json$/, 'state'],
  [/\/(ralph-)?events[^/]*\.jsonl$/, 'event'],
  [/\.ralph\/[^/]+\/proof\.json$/, 'proof'],
  [/\/ralph-proof[^/]*\.json$/, 'proof'],
  [/\/ralph-state[^/]*\.json$/, 'state'],
  [/\/ralph-archive[^/]*\/[^/]+\.json$/, 'state'],
  [/\/tdd-state[^/]*\.json$/, 'tdd-state'],
  [/\/ralph-tdd[^/]*\.json$/, 'tdd-record'],
  [/\/tdd-archive\/[^/]+-list\.json$/, 'tdd-record'],
  [/\/contract[^/]*\.json(?:\.ended)?$/, 'contract'],
];

/** What the program notes for itself alone, and what the client's settings are: nobody else is to read them by a schema. */
const PRIVATE = [
  /\/active-loops\/loop-[^/]+\.json$/,
  /\/\.install\.json$/,
  /\/\.claude\/settings\.json$/,
  /\/ralph-cost[^/]*\.json$/,
  /\/project\.json$/,
  /\/contract[^/]*\.json\.git\//,
  /\/(cancelled|router|turn|task|seen|counters|settling|runner|snapshot|worktree|records|parallel|evidence|git-view)[^/]*\.json(?:\.ended)?$/,
];

const validators = new Map<string, ValidateFunction>();

/** Why a value is not what a published schema says; null where it is. */
function against(schema: string, value: unknown): string | null {
  const known = validators.get(schema);
  const text = (): object => JSON.parse(readFileSync(join(DIST, 'schemas', `${schema}.schema.json`), 'utf8')) as object;
  const validate = known ?? new Ajv({ strict: false, allErrors: true }).compile(text());
  validators.set(schema, validate);
  return validate(value) ? null : JSON.stringify(validate.errors);
}

/** Every JSON file in a project and in the state beside it that no schema describes or that is not as its schema says, and the schemas that were seen. */
function judged({ dir }: Project): { problems: string[]; seen: Set<string> } {
  const root = join(dir, '..');
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || !/\.jsonl?$/.test(path) || /\/(\.git|skills|home)\//.test(path)) continue;
    if (PRIVATE.some((own) => own.test(path))) continue;
    const schema = SCHEMAS.find(([place]) => place.test(path))?.[1];
    const text = readFileSync(path, 'utf8');
    const name = relative(root, path);
    if (schema === undefined) problems.push(`${name}: no schema: ${text.slice(0, 200)}`);
    else {
      seen.add(schema);
      if (schema === 'event') for (const [, type = ''] of text.matchAll(/"type":"([\w.-]+)"/g)) seen.add(type);
      for (const value of path.endsWith('l') ? text.trimEnd().split('\n') : [text]) {
        const why = against(schema, JSON.parse(value));
        if (why !== null) problems.push(`${name}: not as ${schema} says: ${why}: ${value.slice(0, 400)}`);
      }
    }
  }
  return { problems, seen };
}

/** What loops have left in a project and outside it is as the schemas say, and these kinds of file are among it. */
function assertPublished(p: Project, ...kinds: readonly string[]): void {
  const { problems, seen } = judged(p);
  assert.deepEqual(problems, []);
  for (const kind of kinds) assert.ok(seen.has(kind), `no ${kind} among ${[...seen].join(', ')}`);
}

function works(p: Project, args: readonly string[], code = 0): Record<string, unknown> {
  const { code: got, stdout, stderr } = p.ralph(args);
  assert.equal(got, code, `${args.join(' ')}: ${stderr}${stdout}`);
  return stdout.startsWith('{"') || stdout.startsWith('{\n')
    ? (JSON.parse(stdout.split(/\n(?=\{)/)[0] ?? '') as never)
    : {};
}

/** Any agent, as a shell script; the prompt is in $prompt. */
function agent(p: Project, script: string): readonly string[] {
  p.write('../agent.sh', `#!/bin/sh\nprompt=$(cat)\n${script}\n`, 0o755);
  return ['--agent', '../agent.sh'];
}

test('the files of a runner match the published schemas: a prompt, a task folder, a checklist', (t) => {
  const p = project(t);
  p.write(TASK, '---\nvalidation: ["test -f made"]\nmax_iterations: 4\n---\n\nDo it.\n');
  const prompted = agent(
    p,
    `[ -f early ] && touch made; touch early; echo "DB_PASSWORD=abcdefgh ${DONE}"; echo ${DONE}`,
  );
  works(p, ['run', '--json', ...prompted]);
  p.write(
    'job/RALPH.md',
    [
      ...['---', 'completion_promise: DONE', 'required_outputs: [out.md]', 'args: [who]', 'max_iterations: 3'],
      ...[
        'commands:',
        '  - {name: seen, run: "ls {{ args.who }}", acceptance: true}',
        '  - {name: bad, run: "exit 3"}',
      ],
      ...['---', '', '{{ commands.seen }} {{ commands.bad }}', ''],
    ].join('\n'),
  );
  p.write('job/OPEN_QUESTIONS.md', '# P0\n');
  const folder = agent(
    p,
    'echo x >> job/note; [ -f job/note2 ] && echo x > job/out.md; touch job/note2; echo "<promise>DONE</promise>"',
  );
  works(p, ['run', 'job', '--arg', 'who=job', '--json', ...folder]);
  works(p, ['archive', 'job']);
  works(p, ['run', 'job', '--arg', 'who=job', '--json', ...folder]);
  p.write('.ralph/site/task.md', '# Goals\n\nA site.\n\n# Checklist\n\n- [ ] one\n- [ ] two\n\n# Notes\n');
  works(p, [
    'run',
    'site',
    '--json',
    ...agent(p, 'sed -i "0,/- \\[ \\]/s//- [x]/" .ralph/site/task.md; echo Ticked one.'),
  ]);
  assertPublished(
    p,
    'iteration.ended',
    'event',
    'state',
    'run-status',
    'task-iteration-record',
    'loop-iteration',
    'proof',
  );
});

test('the files and answers of a plan match the published schemas', (t) => {
  const p = project(t);
  const task = (id: number, more = ''): string =>
    `- [ ] **Task ${id}: Make ${id}**\n  - Scope: work\n  - Acceptance: made\n${more}`;
  p.write('PLAN.md', task(1) + task(2, '  - Depends on: Task 1\n') + task(3));
  commitFolder(p.dir, 'work');
  const id = `sed -n 's/^Current task: Task \\([0-9]*\\),.*/\\1/p'`;
  const by = agent(
    p,
    `n=$(echo "$prompt" | ${id} | head -1)\n[ "$n" = 3 ] && touch stray\nmkdir -p work; echo x > work/$n; echo "Summary: made $n."`,
  );
  works(p, ['run', 'PLAN.md', '--plan', '--json', ...by], 3);
  assert.equal(against('plan-status', works(p, ['status', 'PLAN.md', '--json'])), null);
  assert.equal(against('plan-check', works(p, ['plan', 'check', 'PLAN.md', '--json'])), null);
  for (const command of ['list', 'status']) {
    const [run] = p.ralph([command, '--json']).json['runs'] as object[];
    assert.equal(against('run', run), null, command);
  }
  assert.equal(against('output', works(p, ['status', 'PLAN.md', '--json'])), null);
  assertPublished(p, 'iteration.ended', 'event', 'state');
});

test('the files of a test-first loop match the published schemas', (t) => {
  const p = project(t);
  works(p, [
    'tdd',
    'init',
    '--scenario',
    'f is there',
    '--command',
    'test -f f',
    '--scenario',
    'g',
    '--command',
    'test -f g',
  ]);
  assertPublished(p, 'tdd-state', 'tdd-record');
  const steps = (file: string): string =>
    `if [ ! -f ${file} ]; then ${MAIN} tdd red; touch ${file}; ${MAIN} tdd green; exit; fi`;
  works(p, ['run', '--tdd', '--json', ...agent(p, `${steps('f')} >&2\n${steps('g')} >&2`)]);
  assertPublished(p, 'tdd-state', 'tdd-record', 'iteration.ended', 'state');
  works(p, ['tdd', 'init', '--scenario', 'h', '--command', 'test -f h', '--fresh']);
  assertPublished(p);
});

test('the files and answers of a router match the published schemas, from the first spawn to the end', (t) => {
  const p = project(t);
  p.write(
    TASK,
    `---\nvalidation: ["test -f made"]\nidle: {delay: 1h, max: 2h}\n---\n\nDo it.\n${'Long. '.repeat(30_000)}\n`,
  );
  const answer = (args: readonly string[]): Record<string, unknown> => {
    const value = works(p, ['router', ...args]);
    assert.equal(against('output', value), null, JSON.stringify(value).slice(0, 500));
    assertPublished(p);
    return value;
  };
  p.write('idle', '<!-- ralph:state idle -->');
  p.write('done', `${DONE}\n`);
  assert.equal(answer(['start'])['action'], 'spawn');
  assert.equal(answer(['status'])['active'], true);
  assert.equal(answer(['report', '--spawn', '1', '--file', 'idle'])['action'], 'wait');
  works(p, ['pause']);
  assert.equal(answer(['next'])['action'], 'wait');
  works(p, ['resume']);
  works(p, ['wake']);
  assert.equal(answer(['next'])['action'], 'spawn');
  assert.equal(answer(['report', '--spawn', '2', '--file', 'done'])['action'], 'spawn');
  p.write('made', '');
  assert.equal(answer(['report', '--spawn', '3', '--file', 'done'])['action'], 'stop');
  assert.equal(answer(['status'])['active'], false);
  assert.equal(answer(['next'])['action'], 'stop');
});

test('the files of the hooks and the control commands match the published schemas', (t) => {
  const p = project(t);
  works(p, ['init']);
  p.write(TASK, '---\nvalidation: ["test -f made"]\n---\n\nDo it.\n');
  const transcript = join(p.home, 'transcript.jsonl');
  p.write('../home/transcript.jsonl', '');
  const hook = (name: string, payload: object): string => {
    const input = { session_id: 's-1', transcript_path: transcript, cwd: p.dir, prompt_id: 'p-1', ...payload };
    const { code, stdout, stderr } = p.sh(`exec node .claude/hooks/ralph-${name}.cjs`, JSON.stringify(input), {
      RALPH_ACTIVE: '1',
      CLAUDE_PROJECT_DIR: p.dir,
    });
    assert.deepEqual([code, stderr], [0, ''], name);
    assertPublished(p);
    return stdout;
  };
  const stop = (text: string, prompt: string): string =>
    hook('stop-hook', {
      hook_event_name: 'Stop',
      stop_hook_active: false,
      last_assistant_message: text,
      prompt_id: prompt,
    });
  const call = { tool_name: 'Bash', tool_input: { command: 'ls' }, tool_use_id: 't-1' };
  hook('session-start', { hook_event_name: 'SessionStart', source: 'startup' });
  hook('user-prompt-submit', { hook_event_name: 'UserPromptSubmit', prompt: 'work by the file' });
  hook('pre-tool-use', { hook_event_name: 'PreToolUse', ...call });
  hook('post-tool-use', { hook_event_name: 'PostToolUse', ...call, tool_response: 'x' });
  hook('pre-tool-use', {
    hook_event_name: 'PreToolUse',
    ...call,
    tool_input: { command: 'echo > .claude/settings.json' },
  });
  assert.match(stop('RALPH_ITERATION_COMPLETE: 2 findings remain', 'p-1'), /"decision":"block"/);
  works(p, ['steer', 'look at the readme']);
  assert.match(stop(DONE, 'p-2'), /rejected/);
  works(p, ['pause']);
  assertPublished(p);
  works(p, ['resume']);
  hook('stop-failure', { hook_event_name: 'StopFailure', error: 'rate_limit' });
  works(p, ['cancel']);
  assertPublished(p, 'state', 'event', 'iteration.ended', 'tool.asked', 'tool.denied', 'check.ran', 'agent.text');
  works(p, ['start', '--loop', 'asked'], 0);
  assertPublished(p, 'contract');
});

test('control: detects a file without a schema, and one that does not match its schema', (t) => {
  const p = project(t);
  works(p, ['init']);
  p.write(TASK, 'Do it.\n');
  works(p, ['start']);
  const path = '.claude/context/runtime/ralph-state.json';
  p.write(
    path,
    p.read(path).replace('"iteration": 0', '"iteration": "none"').replace('"iteration":0', '"iteration":"none"'),
  );
  p.write('.claude/context/runtime/other.json', {});
  const { problems } = judged(p);
  assert.equal(problems.length, 2, problems.join('\n'));
});
