import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inLoopProject, type LoopProject } from '../support/client/loop-project.ts';
import { ofType, runRunner } from '../support/client/runner.ts';
import type { JsonObject } from '../support/client/workspace.ts';
import { bash, type ModelRequest, text, tool } from '../support/model/scripted-model.ts';

const ITERATIONS = 3;
const done = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';

/** A client whose stream is kept beside: what it says of itself, not what the runner made of it. */
const recorded = (
  project: LoopProject,
): { readonly env: { RALPH_CLAUDE: string }; readonly results: () => JsonObject[] } => {
  const stream = project.workspace.path('../stream.jsonl');
  const path = project.workspace.write(
    '../bin/recorded-claude',
    `#!/bin/bash\nset -o pipefail\n[ "$1" = --version ] && exec claude --version\nclaude "$@" | tee -a "${stream}"\n`,
    0o755,
  );
  return {
    env: { RALPH_CLAUDE: path },
    // A run can print several: each agent's last one has the cost of all.
    results: () => [
      ...new Map(
        project.workspace
          .jsonLines(stream)
          .filter(({ type }) => type === 'result')
          .map((line) => [String(line['session_id']), line]),
      ).values(),
    ],
  };
};

const TOKENS = ['inputTokens', 'outputTokens', 'cacheReadInputTokens', 'cacheCreationInputTokens'] as const;

const tokensOf = (result: JsonObject): number[] =>
  TOKENS.map((name) =>
    Object.values(result['modelUsage'] as Record<string, Record<string, number>>).reduce(
      (sum, model) => sum + (model[name] ?? 0),
      0,
    ),
  );

const amounts = (usage: unknown): unknown[] => {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage as Record<string, unknown>;
  return [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens];
};

test('three iterations know of each other only what files hold, and cost exactly what the client says', async () => {
  const at = new Map<string, number>();
  const turns = new Map<string, number>();
  const script = {
    main: ({ sessionId = '' }: ModelRequest) => {
      const nth = at.get(sessionId) ?? at.size + 1;
      at.set(sessionId, nth);
      const turn = (turns.get(sessionId) ?? 0) + 1;
      turns.set(sessionId, turn);
      const usage = { input_tokens: 101 * nth, output_tokens: 7 * turn, cache_read_input_tokens: 13 * nth };
      if (turn === 1) return { ...bash(`cat notes.txt; echo note-${nth}. >> notes.txt; : call-${nth}.`), usage };
      if (turn === 2 && nth === 2) {
        return { ...tool('Agent', { description: 'sub', prompt: 'do', subagent_type: 'general-purpose' }), usage };
      }
      return text(`word-${nth}. is said.${nth === ITERATIONS ? `\n\n${done}` : ''}`, usage);
    },
    subagent: () => text('The subagent is done.', { input_tokens: 1_003, output_tokens: 77 }),
  };
  const frontmatter = `max_iterations: ${ITERATIONS + 1}\nbudget: {max_tokens: 2700, warn_at: 0.7}`;
  await inLoopProject({ frontmatter, init: false }, script, async (project) => {
    const { env, results } = recorded(project);
    const run = await runRunner(project, { env });
    project.model.check();
    assert.equal(run.code, 0, run.stdout + run.stderr);

    const firsts = new Map<string, ModelRequest>();
    const seconds = new Map<string, ModelRequest>();
    for (const request of project.model.mainRequests()) {
      const { sessionId = '' } = request;
      if (!firsts.has(sessionId)) firsts.set(sessionId, request);
      else if (!seconds.has(sessionId)) seconds.set(sessionId, request);
    }
    assert.equal(firsts.size, ITERATIONS, 'a session an iteration');
    [...firsts.values()].forEach((request, index) => {
      assert.match(request.sinceText, new RegExp(`Iteration ${index + 1} of ${ITERATIONS + 1}`));
      assert.equal(request.body.messages.filter(({ role }) => role === 'assistant').length, 0);
      assert.doesNotMatch(JSON.stringify(request.body), /word-\d|call-\d|note-\d/);
    });
    [...seconds.values()].forEach((request, index) => {
      const body = JSON.stringify(request.body);
      const noted = [...new Set([...body.matchAll(/note-(\d+)\.(?! >>)/g)].map(([, nth]) => Number(nth)))];
      assert.deepEqual(
        noted,
        Array.from({ length: index }, (_, nth) => nth + 1),
        'the file tells what was done before',
      );
      assert.doesNotMatch(body, /word-\d/);
    });

    const said = results();
    assert.equal(said.length, ITERATIONS);
    const sum = said.reduce((all, result) => all + Number(result['total_cost_usd']), 0);
    const exact = (usd: number): number => Math.round(usd * 1e10) / 1e10;
    const cost = exact(sum);
    const tokens = said.map(tokensOf).reduce((sum, one) => sum.map((amount, index) => amount + (one[index] ?? 0)));
    assert.ok(cost > 0 && (tokens[0] ?? 0) > 1_003 && (tokens[2] ?? 0) > 0);
    const usage = project.archive()[0]?.state['usage'] as JsonObject;
    assert.equal(usage['costUsd'], cost);
    assert.deepEqual(amounts(usage), tokens);
    assert.equal(ofType(run.events, 'run.ended')[0]?.costUsd, cost);
    const agents = project.iterations().map(({ agent }) => agent as JsonObject);
    for (const { model } of agents) assert.match(String(model), /claude/);
    assert.deepEqual(
      ofType(run.events, 'agent.ended').map(({ costUsd, turns: told, usage: used }) => [costUsd, told, used]),
      agents.map(({ costUsd, turns: told, usage: used }) => [costUsd, told, used]),
    );
    assert.deepEqual(
      agents.map(({ costUsd, turns: told, usage: used }) => [costUsd, told, ...amounts(used)]),
      said.map((result) => [exact(Number(result['total_cost_usd'])), result['num_turns'], ...tokensOf(result)]),
    );

    const warned = ofType(run.events, 'agent.notice').filter(({ message }) =>
      /Budget max_tokens: [\d,]+ of 2,?700/.test(message),
    );
    assert.equal(warned.length, 1, 'the soft warning came once');
  });
});
