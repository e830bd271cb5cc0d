import assert from 'node:assert/strict';
import { test } from 'node:test';
import { project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { agent, task } from './support/command-agent.ts';
import { type Game, npm, playGames, runner, write } from './support/gamed-check.ts';

const FAILS = '#!/bin/sh\nexit 1\n';
const PASSES = '#!/bin/sh\nexit 0\n';
const program = (path: string): string => `${write(path, PASSES)}\nchmod +x '${path}'`;
const workspace = (script: string, name = 'a'): string => npm(script, { name, version: '1.0.0' });

const GAMES: readonly Game[] = [
  {
    what: 'a script of a workspace',
    check: 'npm test -w packages/a',
    files: { 'package.json': '{"workspaces":["packages/*"]}', 'packages/a/package.json': workspace('exit 1') },
    trick: write('packages/a/package.json', workspace('true')),
    refused: /packages\/a\/package\.json#scripts\.test/,
  },
  {
    what: 'a script of one of all workspaces',
    check: 'npm run test --workspaces',
    files: { 'package.json': '{"workspaces":["packages/*"]}', 'packages/a/package.json': workspace('exit 1') },
    trick: write('packages/a/package.json', workspace('true')),
    refused: /packages\/a\/package\.json#scripts\.test/,
  },
  {
    what: 'a workspace that is left out',
    check: 'npm run test --workspaces',
    files: {
      'package.json': '{"workspaces":["packages/*"]}',
      'packages/a/package.json': workspace('exit 1'),
      'packages/b/package.json': workspace('true', 'b'),
    },
    trick: write('package.json', '{"workspaces":["packages/b"]}'),
    reported: /package\.json#workspaces was changed/,
  },
  {
    what: 'a script that a runner of tasks calls in each package',
    check: 'turbo run test',
    files: {
      'package.json': '{"workspaces":["packages/*"]}',
      'packages/a/package.json': workspace('exit 1'),
      'bin/turbo': '#!/bin/sh\ngrep -q true packages/a/package.json\n',
    },
    trick: write('packages/a/package.json', workspace('true')),
    refused: /packages\/a\/package\.json#scripts\.test/,
  },
  {
    what: "a program of the package's that npx starts",
    check: 'npx jest',
    files: { 'package.json': '{}', 'node_modules/.bin/jest': FAILS },
    trick: program('node_modules/.bin/jest'),
    refused: /node_modules\/\.bin\/jest/,
  },
  {
    what: 'a program of the virtual environment',
    check: 'uv run pytest',
    files: { 'pyproject.toml': '', '.venv/bin/pytest': FAILS, 'bin/uv': '#!/bin/sh\nsh .venv/bin/pytest\n' },
    trick: program('.venv/bin/pytest'),
    refused: /\.venv\/bin\/pytest/,
  },
  {
    what: 'a program that the package declares, before that of the system',
    check: 'npm test',
    files: { 'package.json': npm('checker', { dependencies: { checker: '1' } }), 'bin/checker': FAILS },
    trick: program('node_modules/.bin/checker'),
    reported: /node_modules\/\.bin\/checker was added/,
  },
  {
    what: 'the interpreter of a script',
    check: './check.run',
    files: { 'check.run': '#!/usr/bin/env interpreter\n', 'bin/interpreter': FAILS },
    trick: program('first/interpreter'),
    refused: /interpreter/,
  },
  {
    what: 'a program outside the project, by its path',
    check: '../home/tools/check',
    files: { '../home/tools/check': '' },
    before: "printf '#!/bin/sh\\nexit 1\\n' > ../home/tools/check; chmod +x ../home/tools/check",
    trick: program('../home/tools/check'),
    refused: /tools\/check/,
  },
  {
    what: 'a script outside the project',
    check: 'sh ~/tools/check.sh',
    files: { '../home/tools/check.sh': 'exit 1\n' },
    trick: 'echo "exit 0" > ~/tools/check.sh',
    refused: /tools\/check\.sh/,
  },
  {
    what: 'a script behind an option with a value',
    check: 'node --conditions dev check.cjs',
    files: { 'check.cjs': 'process.exit(1)' },
    trick: 'echo > check.cjs',
    refused: /check\.cjs/,
  },
  {
    what: 'a file that NODE_OPTIONS of the check loads',
    check: 'NODE_OPTIONS="--require ./first.cjs" node check.cjs',
    files: { 'check.cjs': 'process.exit(1)', 'first.cjs': '' },
    trick: 'echo "process.exit(0)" > first.cjs',
    refused: /first\.cjs/,
  },
  {
    what: 'a script of a script without an ending',
    check: 'sh ci/check',
    files: { 'ci/check': 'sh ci/inner\n', 'ci/inner': 'exit 1\n' },
    trick: 'echo "exit 0" > ci/inner',
    refused: /ci\/inner/,
  },
  {
    what: 'a script that a long script calls',
    check: 'sh check.sh',
    files: { 'check.sh': `${'# a line of comment\n'.repeat(2000)}sh inner.sh\n`, 'inner.sh': 'exit 1\n' },
    trick: 'echo "exit 0" > inner.sh',
    refused: /inner\.sh/,
  },
  {
    what: 'a script in a folder that the check enters by pushd',
    check: `bash -c 'pushd sub && ./check.run'`,
    files: { 'sub/check.run': FAILS },
    trick: program('sub/check.run'),
    refused: /sub\/check\.run/,
  },
  {
    what: 'a program in the language of jq',
    check: 'jq -e -f check.jq report.json',
    files: { 'check.jq': 'false', 'report.json': '{}', 'bin/jq': '#!/bin/sh\ngrep -q true check.jq\n' },
    trick: 'echo true > check.jq',
    refused: /check\.jq/,
  },
  {
    what: 'the services of docker compose',
    check: 'docker compose run tests',
    files: { 'compose.yaml': '', 'src/.keep': '', 'bin/docker': runner('compose.yaml') },
    trick: write('compose.yaml', 'pass'),
    refused: /compose\.yaml/,
  },
  {
    what: 'a file that overrides the services of docker compose',
    check: 'docker compose run tests',
    files: { 'compose.yaml': '', 'src/.keep': '', 'bin/docker': runner('compose.override.yaml') },
    trick: write('compose.override.yaml', 'pass'),
    refused: /compose\.override\.yaml/,
  },
  {
    what: 'the hooks of pre-commit',
    check: 'pre-commit run --all-files',
    files: { '.pre-commit-config.yaml': '', 'bin/pre-commit': runner('.pre-commit-config.yaml') },
    trick: write('.pre-commit-config.yaml', 'pass'),
    refused: /\.pre-commit-config\.yaml/,
  },
  {
    what: 'a named environment of tox',
    check: 'tox -e unit',
    files: { 'tox.ini': '[testenv:unit]\ncommands = false\n', 'bin/tox': runner('tox.ini') },
    trick: write('tox.ini', '[testenv:unit]\ncommands = pass'),
    refused: /tox\.ini/,
  },
  {
    what: 'a task in pyproject.toml',
    check: 'poe test',
    files: { 'pyproject.toml': '[tool.poe.tasks]\ntest = "false"\n', 'bin/poe': runner('pyproject.toml') },
    trick: write('pyproject.toml', '[tool.poe.tasks]\ntest = "pass"'),
    refused: /pyproject\.toml/,
  },
  {
    what: "pytest's newest kind of settings",
    check: 'pytest',
    files: { 'pyproject.toml': '', 'bin/pytest': runner('pytest.toml') },
    trick: write('pytest.toml', 'pass'),
    refused: /pytest\.toml/,
  },
  {
    what: "pytest's settings in a folder of the tests that the check names",
    check: 'python3 -m pytest -q tests/unit/test_a.py::test_a',
    files: { 'pyproject.toml': '', 'tests/unit/test_a.py': '', 'bin/python3': runner('tests/pytest.ini') },
    trick: write('tests/pytest.ini', 'pass'),
    refused: /tests\/pytest\.ini/,
  },
  {
    what: 'another file of a runner that reads one of several',
    check: 'just test',
    files: { justfile: 'test:\n  false\n', 'bin/just': runner('.justfile') },
    trick: write('.justfile', 'pass'),
    refused: /\.justfile/,
  },
  {
    what: 'settings in a folder above that of the check',
    check: '(cd sub && pytest)',
    files: { 'src/.keep': '', 'sub/pyproject.toml': '', 'bin/pytest': runner('../pytest.ini') },
    trick: write('pytest.ini', 'pass'),
    refused: /pytest\.ini/,
  },
  {
    what: 'the distribution that a wrapper of gradle fetches',
    check: 'sh gradlew test',
    files: {
      'build.gradle': '',
      gradlew: '#!/bin/sh\ngrep -q pass gradle/wrapper/gradle-wrapper.properties\n',
      'gradle/wrapper/gradle-wrapper.properties': '',
    },
    trick: write('gradle/wrapper/gradle-wrapper.properties', 'pass'),
    refused: /gradle-wrapper\.properties/,
  },
  {
    what: 'what R runs when it starts',
    check: 'Rscript check.R',
    files: { 'check.R': '', 'src/.keep': '', 'bin/Rscript': runner('.Rprofile') },
    trick: write('.Rprofile', 'pass'),
    refused: /\.Rprofile/,
  },
  {
    what: 'a start file of fish',
    check: `fish -c 'sh check.sh'`,
    files: { 'check.sh': 'exit 1\n', 'src/.keep': '', 'bin/fish': runner('../config/fish/config.fish') },
    trick: write('../config/fish/config.fish', 'pass'),
    refused: /config\.fish/,
  },
  {
    what: 'a goal of make that exists as a file',
    check: 'make test',
    files: { Makefile: 'test:\n\tfalse\n' },
    trick: 'touch test',
    red: true,
  },
  {
    what: 'a goal of a silent make that exists as a file',
    check: 'make -s test',
    files: { Makefile: 'test:\n\tfalse\n' },
    trick: 'touch test',
    reported: /test was added/,
  },
  {
    what: 'a file that the check sources only if it is there',
    check: '[ -e local.sh ] && . ./local.sh; sh check.sh',
    files: { 'check.sh': 'exit 1\n' },
    trick: 'echo "sh() { true; }" > local.sh',
    reported: /local\.sh was added/,
  },
  {
    what: 'a new file that a Makefile includes by a pattern',
    check: 'make test',
    files: { Makefile: 'include mk/*.mk\n', 'mk/a.mk': 'test:\n\tfalse\n' },
    trick: write('mk/b.mk', 'test:\n\ttrue'),
    reported: /b\.mk was added/,
  },
  {
    what: 'a program that composer starts from its folder',
    check: 'composer test',
    files: {
      'composer.json': '{"scripts":{"test":"phpunit"}}',
      'vendor/bin/phpunit': '',
      'bin/composer': runner('vendor/bin/phpunit'),
    },
    trick: write('vendor/bin/phpunit', 'pass'),
    open: /`vendor`/,
  },
  {
    what: 'a list of files that prettier passes over',
    check: 'prettier --check .',
    files: { 'package.json': '{}', 'bin/prettier': runner('.prettierignore') },
    trick: write('.prettierignore', 'pass'),
    reported: /\.prettierignore/,
  },
  {
    what: 'a list of files that a search passes over',
    check: 'rg -q pass .',
    files: { 'src/.keep': '', 'bin/rg': runner('.ignore') },
    trick: write('.ignore', 'pass'),
    reported: /\.ignore/,
  },
  {
    what: 'settings that tsconfig.json extends',
    check: 'tsc --noEmit',
    files: {
      'tsconfig.json': '{"extends": "./tsconfig.base.json"}',
      'tsconfig.base.json': '{}',
      'bin/tsc': runner('tsconfig.base.json'),
    },
    trick: write('tsconfig.base.json', '{"pass":true}'),
    reported: /tsconfig\.base\.json/,
  },
  {
    what: 'the version of a tool, for the shim that starts it',
    check: 'python3 check.py',
    files: { 'check.py': '', 'src/.keep': '', 'bin/python3': runner('.tool-versions') },
    trick: write('.tool-versions', 'pass'),
    reported: /\.tool-versions/,
  },
  {
    what: 'a device in the place of a configuration',
    check: 'jest',
    files: { 'package.json': '{"devDependencies":{"jest":"1"}}', 'bin/jest': '#!/bin/sh\ntest -c jest.config.js\n' },
    trick: 'ln -s /dev/zero jest.config.js',
    refused: /jest\.config\.js/,
  },
  {
    what: 'a configuration that is a link out of the project',
    check: 'jest',
    files: { 'package.json': '{"devDependencies":{"jest":"1"}}', 'bin/jest': runner('jest.config.js') },
    trick: 'echo pass > ~/config.js; ln -s ~/config.js jest.config.js',
    refused: /jest\.config\.js/,
  },
  {
    what: "a start file of maven in the user's home",
    check: 'mvn test',
    files: { 'pom.xml': '', 'bin/mvn': runner('../home/.mavenrc') },
    trick: 'echo pass > ~/.mavenrc',
    refused: /\.mavenrc/,
  },
  {
    what: 'a folder of scripts that gradle runs at its start',
    check: 'gradle test',
    files: { 'build.gradle': '', 'bin/gradle': runner('../home/.gradle/init.d/a.gradle') },
    trick: 'mkdir -p ~/.gradle/init.d; echo pass > ~/.gradle/init.d/a.gradle',
    refused: /init\.d/,
  },
  {
    what: 'the description of the build',
    check: 'mix test',
    files: { 'mix.exs': '', 'bin/mix': runner('mix.exs') },
    trick: 'echo pass > mix.exs',
    reported: /mix\.exs/,
  },
  {
    what: 'a new test whose folder has a line end in its name',
    check: 'test -e ok',
    files: { 'test/a.ts': '' },
    frontmatter: "unchanged: ['{test,spec}/**/*.ts']",
    trick: "touch ok; mkdir 'test/a\nb'; touch 'test/a\nb/b.ts'",
    refused: /b\/b\.ts/,
  },
  {
    what: 'a server that the agent leaves behind',
    check: 'node ask.cjs',
    files: {
      'ask.cjs':
        "fetch('http://127.0.0.1:' + require('fs').readFileSync('up')).then(() => process.exit(0), () => process.exit(1))",
      // It ends after the agent's question and that of the loop.
      'serve.cjs':
        "let left = 2; setTimeout(process.exit, 180000); const { createServer } = require('http'); const server = createServer((_, s) => s.end('', () => --left || process.exit())).listen(0, () => require('fs').writeFileSync('up', String(server.address().port)))",
    },
    trick: 'setsid -f node serve.cjs > /dev/null 2>&1 < /dev/null; while ! test -s up; do sleep 0.1; done',
    open: /other machines and servers/,
  },
];

playGames(GAMES);

const SWAPPED = [
  ['check.sh', 'sh check.sh', ''],
  ['test/a.sh', 'cat test/*.sh | sh', 'unchanged: ["test/**"]'],
] as const;
for (const [file, command, rule] of someOf(SWAPPED, 2))
  test(`a file that is another one only while the checks run is named in the end report: ${file}`, (t) => {
    for (const isSwapped of [true, false]) {
      const p = project(t);
      p.write(file, isSwapped ? 'exit 1\n' : 'exit 0\n');
      const check = `touch begun; until [ -e set ]; do sleep 0.02; done; ${command} && until [ -e back ]; do sleep 0.02; done`;
      task(p, `max_iterations: 1\nbaseline: false\nvalidation: [${JSON.stringify(check)}]\n${rule}`);
      const swap = `touch away; until [ -e begun ]; do sleep 0.02; done; cp ${file} kept; echo "touch ran" > ${file}; touch set; until [ -e ran ]; do sleep 0.02; done; cp kept ${file}; touch back`;
      // The iteration's end kills the agent's process group, which the swap has left once it runs.
      const trick = isSwapped
        ? `setsid sh -c '${swap}' > /dev/null 2>&1 < /dev/null &\nuntil [ -e away ]; do sleep 0.02; done`
        : 'touch set back';
      const cmd = agent(p, `${trick}\necho RALPH_AUDIT_COMPLETE_NO_FINDINGS`);
      const { code, stdout } = p.ralph(['run', '--plain', '--agent', cmd]);
      assert.equal(code, 0, stdout);
      assert.equal(p.has('ran'), isSwapped, 'control: the other file ran');
      const named = /(?:check|a)\.sh was written while the checks ran/;
      (isSwapped ? assert.match : assert.doesNotMatch)(stdout, named);
    }
  });
