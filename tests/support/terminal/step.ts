import type { TestContext } from 'node:test';

/** A test that begins where the one before has left their common session: when it fails, those behind it are not begun. */
export async function step(t: TestContext, name: string, body: () => void | Promise<void>): Promise<void> {
  let failure: unknown = null;
  await t.test(name, async () => {
    try {
      await body();
    } catch (error) {
      failure = error;
      throw error;
    }
  });
  if (failure !== null) throw failure;
}
