import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import manifest from '../../../package.json' with { type: 'json' };

interface Entry {
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly engines?: { readonly node?: string };
}

const LOCK = join(import.meta.dirname, '..', '..', '..', 'package-lock.json');
const { packages } = JSON.parse(readFileSync(LOCK, 'utf8')) as { packages: Record<string, Entry> };

/** A version such as "20.12" or "20.12.0" as a number that can be compared. */
const asNumber = (version: string): number =>
  version.split('.').reduce((sum, part, place) => sum + Number(part) / 1000 ** place, 0);

const allows = (range: string, node: number): boolean =>
  range.split('||').some((part) => asNumber(/^\s*>=\s*([\d.]+)\s*$/.exec(part)?.[1] ?? '999') <= node);

// npm leaves out an optional package whose engines exclude its node, without a word; the build then lacks its binary.
test('the oldest supported node installs every binary that the lock file names', () => {
  const oldest = asNumber(manifest.engines.node.replace('>=', ''));
  const binaries = Object.entries(packages).filter(([, { optional, os }]) => optional && os);
  assert.ok(binaries.length > 40, `${binaries.length} binaries`);
  assert.ok(allows('>=14.21.3', oldest) && !allows('^20.19.0 || >=22.12.0', oldest));
  const leftOut = binaries.filter(([, { engines }]) => engines?.node && !allows(engines.node, oldest));
  assert.deepEqual(
    leftOut.map(([path]) => path),
    [],
    'delete the "engines" of these in package-lock.json',
  );
});
