import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import * as esbuild from 'esbuild';
import { folderWith } from '../../support/folder.ts';
import '../../support/starts-processes.ts';

test('a place in a bundle is named by its source, one without a map and any other text stay', async (t) => {
  const folder = folderWith(t, {
    'a.ts': 'interface A {}\n\nexport const fail = (): never => {\n  throw new Error("x");\n};\n',
  });
  const path = join(folder, 'out', 'a.mjs');
  await esbuild.build({ entryPoints: [join(folder, 'a.ts')], outfile: path, format: 'esm', sourcemap: 'linked' });
  const { fail } = (await import(path)) as { readonly fail: () => never };
  const tools = join(import.meta.dirname, '..', '..', 'tools', 'source-places.mjs');
  const { sourcePlaces } = (await import(tools)) as {
    sourcePlaces(): { inText(text: string): string; inEvent(data: object): void };
  };
  const places = sourcePlaces();
  const error = thrownBy(fail);
  assert.match(error.stack ?? '', /out\/a\.mjs:2:9/, 'control: the place in the bundle');
  const data = { file: path, line: 2, column: 9, details: { error: new Error('failed', { cause: error }) } };
  places.inEvent(data);
  assert.match(error.stack ?? '', /\/a\.ts:4:9\)/);
  assert.doesNotMatch(error.stack ?? '', /a\.mjs/);
  assert.deepEqual([data.file, data.line, data.column], [join(folder, 'a.ts'), 4, 9]);
  const text = `at ${join(folder, 'b.mjs')}:2:9, at 12:30:15, in node:test:1:2`;
  assert.equal(places.inText(text), text);
});

function thrownBy(work: () => never): Error {
  try {
    return work();
  } catch (error) {
    assert.ok(error instanceof Error);
    return error;
  }
}
