import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

/** Prints each test that failed, with its file and its error, and a last line with the counts. */
export default async function* fastReporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const start = performance.now();
  let passed = 0;
  let failed = 0;
  for await (const { type, data } of events) {
    if (type === 'test:pass' && data.details.type !== 'suite') passed++;
    if (type !== 'test:fail') continue;
    const error = data.details.error;
    // A suite with a failed test is no failure of its own.
    if (data.details.type === 'suite' && String(error.message).includes('subtest')) continue;
    failed++;
    yield `\nFAILED ${data.name}\n${inspect(error.cause ?? error).replace(/^/gm, '  ')}\n`;
  }
  yield `\n${passed} passed, ${failed} failed in ${((performance.now() - start) / 1000).toFixed(1)} s\n`;
}
