import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readPackage } from './package-scripts.ts';

/** Configuration of a runner besides its command. `FILE#PART` is a part of a structured file, `~/` the home folder. */
interface Steering {
  readonly runners: string;
  /** Pinned files, including their absence. */
  readonly files: string;
  /** Files that the end report names if they change: they also contain dependencies or concern only style. */
  readonly reported?: string;
  /** For JavaScript: a configuration is expected only if the package depends on the runner. */
  readonly isPackage?: boolean;
}

const MODULE = 'js,ts,mjs,cjs,mts,cts';
const NPMRC = '.npmrc#settings ~/.npmrc#settings';
/** Mark of a shell that reads its start files: `bash -lc`, `zsh -i`. */
const LOGIN = 'login-shell';
const PYTHON = 'sitecustomize.py usercustomize.py .python-version';

const STEERING: readonly Steering[] = [
  { runners: 'npm npx turbo nx', files: NPMRC, reported: 'turbo.json nx.json' },
  { runners: 'pnpm pnpx', files: `${NPMRC} .pnpmfile.cjs` },
  { runners: 'yarn yarnpkg', files: `${NPMRC} .yarnrc .yarnrc.yml` },
  { runners: 'bun bunx', files: `${NPMRC} bunfig.toml` },
  {
    runners: 'pytest py.test tox nox coverage',
    files: `pytest.ini .pytest.ini conftest.py ${PYTHON} pyproject.toml#tool.pytest pyproject.toml#tool.coverage pyproject.toml#tool.tox tox.ini#pytest tox.ini#testenv tox.ini#tox setup.cfg#tool:pytest noxfile.py .coveragerc`,
    reported: 'tests/conftest.py test/conftest.py',
  },
  { runners: 'python python3 uv poetry pipenv hatch', files: PYTHON },
  {
    runners: 'jest',
    files: `jest.config.{${MODULE},json} package.json#jest`,
    reported: `babel.config.{${MODULE},json} .babelrc .swcrc`,
    isPackage: true,
  },
  {
    runners: 'vitest',
    files: `vitest.config.{${MODULE}} vitest.workspace.{${MODULE},json} vite.config.{${MODULE}}`,
    isPackage: true,
  },
  { runners: 'mocha', files: '.mocharc.{js,cjs,mjs,json,jsonc,yaml,yml} package.json#mocha', isPackage: true },
  { runners: 'ava', files: 'ava.config.{js,cjs,mjs} package.json#ava', isPackage: true },
  { runners: 'tap', files: '.taprc package.json#tap', isPackage: true },
  { runners: 'nyc c8', files: '.nycrc .nycrc.json nyc.config.js .c8rc.json package.json#nyc', isPackage: true },
  { runners: 'playwright', files: `playwright.config.{${MODULE}}`, isPackage: true },
  { runners: 'cypress', files: `cypress.config.{${MODULE}} cypress.json`, isPackage: true },
  {
    runners: 'jasmine karma',
    files: 'jasmine.json spec/support/jasmine.json spec/support/jasmine.mjs karma.conf.js',
    isPackage: true,
  },
  {
    runners: 'cargo',
    files:
      '.cargo/config.toml .cargo/config ~/.cargo/config.toml .config/nextest.toml rust-toolchain rust-toolchain.toml',
    reported: 'build.rs Cargo.toml',
  },
  { runners: 'go gotestsum', files: 'go.work ~/.config/go/env', reported: 'go.mod vendor/modules.txt' },
  { runners: 'phpunit pest composer', files: 'phpunit.xml phpunit.xml.dist phpunit.dist.xml composer.json#scripts' },
  {
    runners: 'rspec bundle rake',
    files: '.rspec .rspec-local ~/.rspec .bundle/config',
    reported: 'spec/spec_helper.rb spec/rails_helper.rb test/test_helper.rb Rakefile rakefile',
  },
  {
    runners: 'gradle gradlew',
    files: '~/.gradle/init.gradle ~/.gradle/gradle.properties',
    reported: 'build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties',
  },
  { runners: 'mvn mvnw', files: '.mvn/maven.config .mvn/jvm.config ~/.m2/settings.xml', reported: 'pom.xml' },
  { runners: 'dotnet', files: '.runsettings Directory.Build.props Directory.Build.targets' },
  { runners: 'zsh', files: '~/.zshenv' },
  { runners: 'direnv', files: '.envrc' },
  { runners: 'mise asdf', files: '.tool-versions mise.toml .mise.toml' },
  { runners: 'bazel', files: '.bazelrc ~/.bazelrc' },
  { runners: 'just', files: 'justfile Justfile .justfile' },
  { runners: 'task', files: 'Taskfile.yml Taskfile.yaml' },
  { runners: 'cmake ctest', files: 'CTestCustom.cmake', reported: 'CMakePresets.json' },
  { runners: 'node', files: '', reported: 'package.json#imports' },
  {
    runners: LOGIN,
    files: '~/.profile ~/.bash_profile ~/.bash_login ~/.bashrc ~/.zprofile ~/.zshrc ~/.zlogin',
  },
  { runners: 'deno', files: 'deno.json#tasks deno.json#test deno.jsonc' },
  { runners: 'tsc vue-tsc ts-node tsx', files: '', reported: 'tsconfig.json' },
  {
    runners: 'eslint',
    files: '',
    reported: `eslint.config.{${MODULE}} .eslintrc.{js,cjs,json,yml,yaml} .eslintrc package.json#eslintConfig`,
  },
  {
    runners: 'biome prettier ruff mypy flake8 pylint rubocop golangci-lint',
    files: '',
    reported:
      'biome.json biome.jsonc ruff.toml .ruff.toml mypy.ini .mypy.ini .flake8 .pylintrc .rubocop.yml .golangci.yml pyproject.toml#tool.ruff pyproject.toml#tool.mypy setup.cfg#mypy setup.cfg#flake8',
  },
];

const BY_RUNNER: ReadonlyMap<string, readonly Steering[]> = new Map(
  STEERING.flatMap(({ runners }) => runners.split(' ')).map((name) => [
    name,
    STEERING.filter(({ runners }) => runners.split(' ').includes(name)),
  ]),
);

export interface SteeringFile {
  /** Path relative to the working directory of the command; absolute if it begins with `~/`. */
  readonly key: string;
  /** `pinned`: even if absent. `present`: only if it exists. `reported`: in the end report. `known`: if already pinned. */
  readonly as: 'pinned' | 'present' | 'reported' | 'known';
}

/** Returns the configuration of the runners among a command's words, for this working directory. */
export function steeringFiles(directory: string, words: readonly string[]): SteeringFile[] {
  const names = words.map((word) => word.slice(word.lastIndexOf('/') + 1).replace(/^(python)[\d.]+$/, '$1'));
  const isLogin =
    names.some((name) => /^(?:ba|z|k)?sh$/.test(name)) && words.some((word) => /^-\w*[il]|^--login$/.test(word));
  return [
    ...[...names, ...(isLogin ? [LOGIN] : [])].flatMap((name) =>
      (BY_RUNNER.get(name) ?? []).flatMap((steering) => filesOf(directory, name, steering)),
    ),
    ...shadowingModules(directory, names),
  ];
}

function filesOf(directory: string, runner: string, { files, reported = '', isPackage }: Steering): SteeringFile[] {
  // In an empty project the agent may have to set up the runner itself.
  const hasBegun = MANIFESTS.some((name) => existsSync(join(directory, name)));
  const isMissed = isPackage ? dependsOn(directory, runner) : hasBegun;
  return [
    ...spread(files).map((key): SteeringFile => ({ key, as: isMissed ? 'pinned' : 'present' })),
    ...spread(reported).map((key): SteeringFile => ({ key, as: 'reported' })),
  ];
}

/** Returns globs of the configuration files that the runners named in a text read in a project. */
export function configurationNamed(text: string): string[] {
  const runners = text.toLowerCase().match(/[a-z0-9][\w.-]*/g) ?? [];
  const files = runners.flatMap((name) => (BY_RUNNER.get(name) ?? []).flatMap((steering) => steering.files.split(' ')));
  const globs = files.map((file) => file.replace(/\{.*\}/, '*'));
  return [...new Set(globs.filter((glob) => glob !== '' && !/[#~]|customize\.py$/.test(glob)))].sort();
}

function spread(files: string): string[] {
  return files.split(' ').flatMap((file) => {
    const [, before = '', list, after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(file) ?? [];
    if (list === undefined) return file === '' ? [] : [file];
    return list.split(',').map((each) => `${before}${each}${after}`);
  });
}

function dependsOn(directory: string, runner: string): boolean {
  const { dependencies, devDependencies } = readPackage(directory, 'package.json');
  return (
    existsSync(join(directory, 'node_modules', '.bin', runner)) ||
    [dependencies, devDependencies].some((list) =>
      Object.keys(list ?? {}).some((name) => name === runner || name.startsWith(`@${runner}/`)),
    )
  );
}

const MANIFESTS =
  'package.json pyproject.toml setup.py setup.cfg requirements.txt tox.ini pytest.ini Cargo.toml go.mod composer.json Gemfile pom.xml build.gradle build.gradle.kts Makefile tests test spec src'.split(
    ' ',
  );

/** Returns modules that could shadow those of `python -m NAME`, which looks in its working directory first. */
function shadowingModules(directory: string, names: readonly string[]): SteeringFile[] {
  const module = names.includes('python') ? names[names.indexOf('-m') + 1] : undefined;
  if (!names.includes('-m') || module === undefined || !/^\w+$/.test(module)) return [];
  const own = [`${module}.py`, `${module}/__init__.py`, `${module}/__main__.py`];
  const isOwn = own.some((path) => existsSync(join(directory, path)));
  return own.map((key) => ({ key, as: isOwn ? 'known' : 'pinned' }));
}
