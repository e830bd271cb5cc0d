import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { compare, snapshot } from '../../src/task/progress/snapshot.ts';

/**
 * What it costs an iteration to know whether it made progress, in a repository of 100,000 files: one snapshot and the
 * comparison with the one before, and a second snapshot where commands run before the next iteration. With --check it
 * exits 1 over the budget.
 *   node --import tsx tests/bench/progress.ts [--files 100000] [--rounds 15] [--check]
 */
const files = numberOf('--files', 100_000);
const rounds = numberOf('--rounds', 15);
const LIMIT_MS = 300;
const FILES_IN_FOLDER = 100;

process.exitCode = await main();

async function main(): Promise<number> {
  const project = mkdtempSync(join(tmpdir(), 'ralph-bench-progress-'));
  try {
    createRepository(project);
    let round = 0;
    const work = (): void => appendFileSync(join(project, fileName(++round * 997)), '// more\n');
    console.log(`load of this machine: ${loadavg()[0]?.toFixed(1)}`);
    const over = [
      report('clean work tree', await median(project, () => {})),
      report('a file changed in each', await median(project, work)),
      report('the same, with commands before the next', await median(project, work, 2)),
    ];
    return process.argv.includes('--check') && over.includes(true) ? 1 : 0;
  } finally {
    rmSync(project, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** In milliseconds. */
async function median(project: string, change: () => void, snapshots = 1): Promise<number> {
  const times: number[] = [];
  let before = await snapshot(project, 'tasks/one');
  for (let round = 0; round < rounds; round++) {
    change();
    const began = performance.now();
    const after = await snapshot(project, 'tasks/one', { since: before });
    const { progress, bounded } = compare(before, after);
    if (progress === 'unknown') throw new Error(`nobody can tell: ${bounded.join(', ')}`);
    before = snapshots === 1 ? after : await snapshot(project, 'tasks/one');
    times.push(performance.now() - began);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

function report(name: string, value: number): boolean {
  const over = value > LIMIT_MS;
  console.log(`${name}: ${value.toFixed(0)} ms (budget ${LIMIT_MS} ms${over ? ', EXCEEDED' : ''})`);
  return over;
}

function createRepository(project: string): void {
  for (let at = 0; at < files; at += FILES_IN_FOLDER) mkdirSync(join(project, folderName(at)), { recursive: true });
  for (let at = 0; at < files; at++) writeFileSync(join(project, fileName(at)), `export const value = ${at};\n`);
  mkdirSync(join(project, 'tasks/one'), { recursive: true });
  writeFileSync(join(project, 'tasks/one/RALPH.md'), 'Do it.\n');
  // Without gc.auto a commit of so many objects leaves a git packing them in the background, beside what is measured.
  const settings = ['user.name=bench', 'user.email=bench@localhost', 'gc.auto=0', 'maintenance.auto=false'];
  const git = (...words: string[]) =>
    execFileSync('git', [...settings.flatMap((setting) => ['-c', setting]), ...words], { cwd: project });
  git('init', '--quiet');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'All of it');
}

function folderName(at: number): string {
  const folder = Math.floor(at / FILES_IN_FOLDER);
  return `src/area-${folder % 40}/part-${folder}`;
}

function fileName(at: number): string {
  return `${folderName(at % files)}/file-${at % FILES_IN_FOLDER}.ts`;
}

function numberOf(name: string, otherwise: number): number {
  const at = process.argv.indexOf(name);
  return at === -1 ? otherwise : Number(process.argv[at + 1]);
}
