/** `node:child_process` of `npm run test:fast`: its tests start no process. */
function refuse(): never {
  throw new Error('npm run test:fast starts no process: this test file imports tests/support/starts-processes.ts');
}

export {
  refuse as exec,
  refuse as execFile,
  refuse as execFileSync,
  refuse as execSync,
  refuse as fork,
  refuse as spawn,
  refuse as spawnSync,
};
