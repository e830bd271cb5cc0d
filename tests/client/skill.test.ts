import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { runClient } from '../support/client/client.ts';
import { inLoopProject } from '../support/client/loop-project.ts';
import { bash, steps, text, tool } from '../support/model/scripted-model.ts';

const skill = readFileSync(new URL('../../SKILL.md', import.meta.url), 'utf8');
const description = /^description: (.*)$/m.exec(skill)?.[1] ?? '';
const body = skill.slice(skill.indexOf('\n---\n') + 5).trim();

/** As a session that was set up calls it, in the words of SKILL.md. */
const main = 'node .claude/skills/ralph-loop/scripts/main.cjs';
const PLAN = 'docs/Mein Plan.md';
const plan = [1, 5].map((id) => `- [ ] **Task ${id}: Make ${id}**\n  - Scope: work\n  - Acceptance: made\n`).join('');

test("the client offers the skill with its whole description and passes it on whole with the user's words", async () => {
  for (const phrase of ['Run ralph on PLAN', 'Continue ralph from Task 5 on PLAN', 'Show ralph progress for PLAN']) {
    assert.ok(description.includes(phrase) && body.includes(phrase), phrase);
  }
  await inLoopProject({ files: { [PLAN]: plan } }, steps([text('I know now.')]), async ({ workspace, model }) => {
    await runClient({ workspace, model, prompt: `/ralph-loop "${PLAN}"` });
    const told = model.mainRequests()[0]?.sinceText ?? '';
    assert.ok(told.includes(`- ralph-loop: ${description}`), 'the description is cut');
    assert.ok(told.includes(body), 'the skill is cut');
    assert.match(told, /references\/router-mode\.md/);
    assert.ok(told.includes(`ARGUMENTS: "${PLAN}"`), 'what was typed is not there');
    model.check();
  });
});

test('asked to run, continue or show a plan, a session finds the way in the skill, and each command works', async () => {
  const script = steps([
    tool('Skill', { skill: 'ralph-loop' }),
    bash(`${main} status "${PLAN}"`),
    bash(`${main} plan check "${PLAN}"`),
    bash(`${main} run "${PLAN}" --plan --from "Task 5" --permission-mode acceptEdits`),
    bash('git add -A && git commit -qm begin && git switch -qc work'),
    bash(`${main} router start --task "${PLAN}" --plan --from "Task 5"`),
    bash(`${main} status "docs/Kein Plan.md"`),
    text('Run the line in another terminal.'),
  ]);
  await inLoopProject({ files: { [PLAN]: plan }, git: true }, script, async ({ workspace, model }) => {
    await runClient({ workspace, model, prompt: `zeig mir, wie weit ralph mit "${PLAN}" ist` });
    const heard = model.mainRequests().map(({ sinceText }) => sinceText);
    assert.ok(heard[1]?.includes(body), 'the skill is not handed over');
    assert.match(heard[2] ?? '', /"done":0,"total":2,"next":\{"id":"Task 1","title":"Make 1"\}/);
    assert.match(
      heard[3] ?? '',
      /Mein Plan\.md:1: warning: this plan has no validation commands[\s\S]*0 of 2 done\. Next: Task 1, Make 1\./,
    );
    assert.match(heard[4] ?? '', /"run" is for the user at a terminal/);
    assert.match(heard[6] ?? '', /"action": "spawn"[\s\S]*Task 5: Make 5|"action": "spawn"[\s\S]*Task 5, Make 5/);
    assert.match(heard[7] ?? '', /docs\/Kein Plan\.md: no such file exists/);
    model.check();
  });
});
