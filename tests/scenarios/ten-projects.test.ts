import assert from 'node:assert/strict';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readYaml } from '../../src/task/frontmatter/read-yaml.ts';
import { splitFrontmatter } from '../../src/task/frontmatter/split-frontmatter.ts';
import { project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';

/** A project with work to do, the commands that a draft has to name in it, and the shell text of that work. */
interface Case {
  readonly files: Readonly<Record<string, string | object>>;
  readonly commands: readonly string[];
  readonly work: string;
  /** Programs that stand for tools that may not be installed; they pass once the file `fixed` is there. */
  readonly tools?: readonly string[];
  /** The same project for the real tools, which `npm run test:projects` has. */
  readonly real?: Pick<Case, 'files' | 'work'>;
}

const FIXED = 'touch fixed';
const CALC = 'def add(a, b):\n    return a - b\n';
const REPAIR = 'sed -i "s/a - b/a + b/" calc.py';

const CASES: Readonly<Record<string, Case>> = {
  npm: {
    files: {
      'package.json': { scripts: { test: 'node --test', build: 'mkdir -p out && cp sum.js out' } },
      'package-lock.json': '{}',
      'sum.js': 'exports.sum = (a, b) => a - b;\n',
      'sum.test.js':
        "const { sum } = require('./sum.js');\nrequire('node:test')('adds', () => require('node:assert').equal(sum(1, 2), 3));\n",
    },
    commands: ['npm test', 'npm run build'],
    work: 'sed -i "s/a - b/a + b/" sum.js',
  },
  'npm workspaces': {
    files: {
      'package.json': { name: 'root', private: true, workspaces: ['packages/*'] },
      'packages/a/package.json': { name: 'a', version: '1.0.0', scripts: { test: 'test -f ../../fixed' } },
      'packages/b/package.json': { name: 'b', version: '1.0.0' },
    },
    commands: ['npm run test --workspaces --if-present'],
    work: FIXED,
  },
  pnpm: {
    files: { 'package.json': { scripts: { test: 'vitest run', lint: 'eslint .' } }, 'pnpm-lock.yaml': '' },
    commands: ['pnpm test', 'pnpm run lint'],
    work: FIXED,
    tools: ['pnpm'],
  },
  'Python with pytest': {
    files: { 'pytest.ini': '[pytest]\n', 'calc.py': CALC, 'test_calc.py': 'def test_add():\n    assert True\n' },
    commands: ['python3 -m pytest'],
    work: FIXED,
    tools: ['python3'],
  },
  'Python with unittest': {
    files: {
      'calc.py': CALC,
      'tests/test_calc.py':
        'import unittest\nfrom calc import add\n\nclass Add(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n',
    },
    commands: ['python3 -m unittest discover -s tests'],
    work: REPAIR,
  },
  Cargo: {
    files: { 'Cargo.toml': '[package]\nname = "x"\n' },
    commands: ['cargo test', 'cargo clippy', 'cargo build'],
    work: FIXED,
    tools: ['cargo', 'cargo-clippy'],
    real: {
      files: {
        'Cargo.toml': '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n',
        'src/lib.rs':
          'pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n',
      },
      work: 'sed -i "s/a - b/a + b/" src/lib.rs',
    },
  },
  Go: {
    files: { 'go.mod': 'module x\n' },
    commands: ['go test ./...', 'go vet ./...', 'go build ./...'],
    work: FIXED,
    tools: ['go'],
    real: {
      files: {
        'go.mod': 'module calc\n\ngo 1.19\n',
        'calc.go': 'package calc\n\nfunc Add(a, b int) int { return a - b }\n',
        'calc_test.go':
          'package calc\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(Add(1, 2))\n\t}\n}\n',
      },
      work: 'sed -i "s/a - b/a + b/" calc.go',
    },
  },
  make: {
    files: { Makefile: 'check:\n\ttest -f fixed\nbuild:\n\ttrue\n' },
    commands: ['make check', 'make build'],
    work: FIXED,
  },
  Maven: {
    files: { 'pom.xml': '<project/>' },
    commands: ['mvn -B test', 'mvn -B -DskipTests package'],
    work: FIXED,
    tools: ['mvn'],
  },
  Gradle: {
    files: { 'build.gradle': '', gradlew: 'echo "gradlew $*" >> ../calls\ntest -f fixed\n' },
    commands: ['sh gradlew test', 'sh gradlew assemble'],
    work: FIXED,
  },
  'documents only': { files: { 'README.md': '# Notes\n' }, commands: [], work: FIXED },
};

const AGENT = 'if [ -f .claimed ]; then sh work.sh; fi; touch .claimed; echo "<promise>DONE</promise>"';

const withToolchains = process.env['RALPH_TEST_TOOLCHAINS'] === '1';
/** A cargo that rustup installed finds its toolchain in the home folder, and a test has a home of its own. */
const RUSTUP = { RUSTUP_HOME: process.env['RUSTUP_HOME'] ?? join(homedir(), '.rustup') };

/** Returns the checks of a draft, and the commands that its prompt shows. */
function settingsIn(text: string): { readonly validation?: string[]; readonly commands?: { readonly run: string }[] } {
  return readYaml(splitFrontmatter(text).frontmatter).mapping ?? {};
}

for (const [kind, { real, commands, ...stubbed }] of someOf(Object.entries(CASES), 6)) {
  const { files, work, tools = [] } = withToolchains && real !== undefined ? { ...real, tools: [] } : stubbed;
  test(`a run on plain words completes in a project of ${kind} at the first honest claim`, (t) => {
    const p = project(t);
    for (const [path, content] of Object.entries(files)) p.write(path, content);
    for (const tool of tools)
      p.write(`../tools/${tool}`, `#!/bin/sh\necho "${tool} $*" >> ../calls\ntest -f fixed\n`, 0o755);
    p.write('work.sh', work);
    const env = {
      PATH: `${join(p.dir, '../tools')}:${process.env['PATH']}`,
      RALPH_RETRY_WAIT: '10ms',
      ...(withToolchains && RUSTUP),
    };
    const ran = p.ralph(['run', '--yes', '--agent', AGENT, 'fix the failing tests'], env);
    const draft = '.ralph/fix-failing-tests/RALPH.md';
    const { validation = [], commands: shown = [] } = settingsIn(p.read(draft));
    assert.deepEqual([...validation, ...shown.map(({ run }) => run)].sort(), [...commands].sort());
    assert.equal(ran.code, 0, ran.stdout + ran.stderr);
    if (p.has('../calls')) {
      const calls = new Set(p.read('../calls').trim().split('\n'));
      assert.deepEqual(
        // Whether Python finds a module is asked by `-c`.
        [...calls].filter((call) => !call.startsWith('python3 -c ')).sort(),
        commands.map((command) => command.replace(/^sh /, '')).sort(),
      );
    }
    const status = JSON.parse(p.read('.ralph/fix-failing-tests/.ralph-runner/status.json'));
    assert.equal(status.status, 'complete');
    // The first claim comes before the work: only checks can tell.
    assert.equal(status.iteration, commands.length === 0 ? 1 : 2);
    const { json } = p.ralph(['check', draft, '--json'], env);
    assert.deepEqual([json['ok'], json['problems']], [true, []]);
    const notes = (json['notes'] as string[]).filter((note) => !/needs a permission mode/.test(note));
    assert.equal(notes.length, commands.length === 0 ? 1 : 0, 'nothing measures the work');
  });
}
