import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTaskFile } from '../../../src/task/check/check-task-file.ts';

const warnings = (frontmatter: string): string[] => {
  const { problems } = checkTaskFile('PROMPT.md', `---\n${frontmatter}\n---\nWork.\n`, 'prompt');
  return problems.filter(({ rule }) => rule === 'hidden-exit').map(({ message }) => message);
};
const check = (run: string): string[] => warnings(`validation: [${JSON.stringify(run)}]`);

test('a check that passes whatever fails in it is warned of', () => {
  for (const run of [
    ...['npm test || true', 'npm test; exit 0', 'npm test || :', 'npm test; echo done', 'npm test\nprintf "ok\\n"\n'],
    ...['npm test || echo "it\'s red"', 'npm test &', 'cd "my app"; npm test; true;', 'npm test || true # flaky'],
  ])
    assert.match(check(run)[0] ?? '', /^validation\[0\] exits with 0 whatever fails: remove "/, run);
  for (const run of [
    'npm test | tail -5',
    'npm test | tail -5\n',
    'npm test 2>&1 | tee log.txt',
    'npm run a && npm test |& cat',
    'npm test | tail -5 # in short',
  ])
    assert.match(check(run)[0] ?? '', /has the exit code of "(?:tail|tee|cat)", whatever fails before it/, run);
  assert.match(check('npm test | tail -5')[0] ?? '', /: remove "\| tail -5", or begin with "set -o pipefail;"\.$/);
});

test('control: a check whose exit code counts is not', () => {
  for (const run of [
    'npm test',
    'true',
    'set -o pipefail; npm test | tail -5',
    'git status --porcelain | grep -q .',
    'npm test | tail -1 | grep -q passed',
    'test -e a || exit 1',
    'sh -c "a | tail" && npm test',
    'cat names.txt | sort -c',
    'npm test | tail -3\nnpm run lint',
    'grep -rn TODO src && exit 1 || true',
    'grep -q debugger app.js && exit 1; exit 0',
    'npm test || exit $?; true',
    'set -e; npm test; rm -rf out || true',
    'set -euo pipefail\nnpm test\nrm -rf out || true',
    'diff <(sort a.txt) <(jq .b a.json | sort)',
    'test $(git diff --name-only | head -1) = a.ts',
    '[ -z `git status --porcelain | head -1` ]',
    'npm test || cat log.txt',
    'npm test && echo done',
    'npm run lint &&\n  npm test &&\n  echo "all good"',
    'npm run lint && \\\n  npm test && \\\n  echo done',
    'npm test # once it was: || true',
    'npm test # R&D &',
    'test "${#NAME}" -gt 3',
    'set -u -e; npm test; echo ok',
    'set -o pipefail -e\nnpm test\necho ok',
    'npm test || { echo failed; exit 1; }',
    'if grep -rn TODO src; then\n  exit 1\nfi\necho clean',
    'for f in *.js; do node --check $f || exit 1; done; echo ok',
    'serve & sleep 1; curl -sf localhost:80',
    'npm test 2>&1',
    'npm test &>log.txt',
    'node -e "run(); true"',
    `perl -e 'die unless -s "a"; printf "ok"'`,
    `awk '/x/ { bad = 1 } END { exit bad; print "a" }' a.txt`,
    'serve & wait $!',
  ])
    assert.deepEqual(check(run), [], run);
});

test('a command is warned of where its result is a check', () => {
  const commands = (more: string): string => `commands: [{ name: a, run: "npm test | tail -5"${more} }]`;
  assert.match(warnings(commands(', acceptance: true'))[0] ?? '', /^commands\[0\]\.run has the exit code of "tail"/);
  assert.deepEqual(warnings(commands('')), [], 'control: evidence for the prompt');
});
