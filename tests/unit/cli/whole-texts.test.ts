import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CommandContext } from '../../../src/cli/command.ts';
import { loopView } from '../../../src/cli/runner-lines.ts';
import type { RunnerEvent } from '../../../src/engine/runner-event.ts';
import { nextView } from '../../../src/term/live/next-view.ts';
import { NEW_VIEW } from '../../../src/term/live/view.ts';

const SAID: RunnerEvent = { type: 'agent.text', text: 'Two tests fail.', streamed: true };

/** Lines of a live view that is told these events only, as that of several loops is by their processes. */
function shownOf(...events: readonly RunnerEvent[]): string {
  const view = events.reduce((before, event) => nextView(before, event, 0), NEW_VIEW);
  return view.lines.flatMap(({ spans }) => spans.map(({ text }) => text)).join('\n');
}

test('a view that is fed by the JSON of another process shows what the agent says', async () => {
  const written: string[] = [];
  const context = { values: { json: true }, out: (line: string) => written.push(line) };
  const { tell } = await loopView(context as unknown as CommandContext);
  tell({ type: 'agent.text-delta', text: 'Two tests ' });
  tell(SAID);
  const read = written.map((line) => JSON.parse(line) as RunnerEvent);
  assert.equal(read.length, 1, 'parts of a text are not written');
  assert.match(shownOf(...read), /Two tests fail\./);
  assert.doesNotMatch(shownOf(SAID), /Two tests fail\./, 'control: after its parts, the whole text is not shown again');
});
