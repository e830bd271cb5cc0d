import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundleCoreTests } from './bundle-core-tests.ts';

/**
 * Runs the unit tests of src/engine and names every block (function, branch, right side of `&&`, `||`, `??`) that none of
 * them enters. Exit 1 when there is one. Left out: what the types make unreachable (`satisfies never`).
 */
interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const bundle = join(root, '.build', 'core-coverage.mjs');

await bundleCoreTests(root, bundle, 'node');
const blocks = measure();
const code = readFileSync(bundle, 'utf8');
const starts = lineStarts(code);
const map = new SourceMap(JSON.parse(readFileSync(`${bundle}.map`, 'utf8')));
let all = 0;
const missed = new Set<string>();
for (const { startOffset, endOffset, count } of blocks) {
  const text = code.slice(startOffset, endOffset);
  const place = sourceOf(startOffset + (text.length - text.trimStart().length));
  if (place === null) continue;
  all++;
  if (count === 0 && !place.line.includes('satisfies never'))
    missed.add(`${place.at}  ${text.trim().split('\n', 1)[0]}`);
}
for (const block of [...missed].sort()) console.log(`not covered: ${block}`);
console.log(
  `src/engine: ${all - missed.size} of ${all} blocks covered (${((1 - missed.size / all) * 100).toFixed(2)} %)`,
);
process.exitCode = missed.size === 0 ? 0 : 1;

function measure(): Range[] {
  const folder = mkdtempSync(join(tmpdir(), 'core-coverage-'));
  try {
    const env = { ...process.env, NODE_V8_COVERAGE: folder };
    const run = spawnSync(process.execPath, [bundle], { env, encoding: 'utf8' });
    if (run.status !== 0) throw new Error(`the tests fail; run node ${bundle}`);
    const reports = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')));
    const url = pathToFileURL(bundle).href;
    return reports.flatMap((report) =>
      report.result
        .filter((script: { url: string }) => script.url === url)
        .flatMap((script: { functions: { ranges: Range[] }[] }) => script.functions.flatMap(({ ranges }) => ranges)),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function sourceOf(offset: number): { at: string; line: string } | null {
  const line = starts.findLastIndex((start) => start <= offset);
  const entry = map.findEntry(line, offset - (starts[line] ?? 0));
  if (!('originalSource' in entry) || !entry.originalSource.includes('/src/engine/')) return null;
  const file = entry.originalSource.slice(entry.originalSource.indexOf('src/engine/'));
  if (file.startsWith('src/engine/schema/')) return null;
  const source = readFileSync(join(root, file), 'utf8').split('\n');
  // The block of a `default:` begins there and says what it is one line further down.
  const text = source.slice(entry.originalLine, entry.originalLine + 2).join('\n');
  return { at: `${file}:${entry.originalLine + 1}`, line: text };
}

function lineStarts(text: string): number[] {
  const found = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) found.push(at + 1);
  return found;
}
