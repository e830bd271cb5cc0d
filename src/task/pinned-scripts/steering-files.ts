import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { isFolder } from '../../state/files/regular-file.ts';
import { readPackage } from './package-scripts.ts';

const MODULE = 'js,ts,mjs,cjs,mts,cts';
const NPMRC = '.npmrc#settings ~/.npmrc#settings';
/** Mark of a shell that reads its start files: `bash -lc`, `zsh -i`. */
const LOGIN = 'login-shell';
const PYTHON = 'sitecustomize.py usercustomize.py .python-version';

/**
 * Files that steer runners beside their command: `RUNNERS: FILES | REPORTED`. FILES are pinned, even if absent; REPORTED are
 * named in the end report if they change, because they also hold dependencies or are a matter of style. `FILE#PART` is a part
 * of a structured file, `~/` the home folder. Files with a `*` are missed only if a package depends on the runner.
 */
const STEERING = `
npm npx turbo nx: ${NPMRC} | turbo.json nx.json package.json#config
npm pnpm yarn bun turbo nx lerna: | package.json#workspaces pnpm-workspace.yaml lerna.json
pnpm pnpx: ${NPMRC} .pnpmfile.cjs
yarn yarnpkg: ${NPMRC} .yarnrc .yarnrc.yml
bun bunx: ${NPMRC} bunfig.toml ~/.bunfig.toml
pytest py.test tox nox coverage: pytest.ini .pytest.ini pytest.toml .pytest.toml conftest.py ${PYTHON} pyproject.toml#tool.pytest pyproject.toml#tool.coverage pyproject.toml#tool.tox tox.ini#pytest tox.ini#testenv* tox.ini#tox tox.toml setup.cfg#tool:pytest noxfile.py .coveragerc | tests/conftest.py test/conftest.py
python python3: ${PYTHON}
uv poetry pipenv hatch pdm poe task taskipy: ${PYTHON} pyproject.toml#tool.poe pyproject.toml#tool.pdm pyproject.toml#tool.hatch pyproject.toml#tool.taskipy pyproject.toml#tool.uv uv.toml hatch.toml | Pipfile
jest react-scripts *: jest.config.{${MODULE},json} package.json#jest | babel.config.{${MODULE},json} .babelrc .swcrc
vitest *: vitest.config.{${MODULE}} vitest.workspace.{${MODULE},json} vite.config.{${MODULE}}
mocha *: .mocharc.{js,cjs,mjs,json,jsonc,yaml,yml} package.json#mocha
ava *: ava.config.{js,cjs,mjs} package.json#ava
tap *: .taprc package.json#tap
nyc c8 *: .nycrc .nycrc.json nyc.config.js .c8rc.json package.json#nyc package.json#c8
playwright *: playwright.config.{${MODULE}}
cypress *: cypress.config.{${MODULE}} cypress.json
cucumber-js *: cucumber.{js,cjs,mjs,json,yaml,yml}
jasmine karma *: jasmine.json spec/support/jasmine.json spec/support/jasmine.mjs karma.conf.js
cargo: .cargo/config.toml .cargo/config ~/.cargo/config.toml .config/nextest.toml rust-toolchain rust-toolchain.toml | build.rs Cargo.toml clippy.toml .clippy.toml rustfmt.toml .rustfmt.toml
go gotestsum: go.work ~/.config/go/env | go.mod vendor/modules.txt
phpunit pest composer: phpunit.xml phpunit.xml.dist phpunit.dist.xml composer.json#scripts
rspec bundle rake: .rspec .rspec-local ~/.rspec .bundle/config ~/.bundle/config | spec/spec_helper.rb spec/rails_helper.rb test/test_helper.rb Rakefile rakefile
gradle gradlew: ~/.gradle/init.gradle ~/.gradle/init.gradle.kts ~/.gradle/init.d ~/.gradle/gradle.properties gradle/wrapper/gradle-wrapper.properties gradle/wrapper/gradle-wrapper.jar | build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties
mvn mvnw: .mvn/maven.config .mvn/jvm.config .mvn/extensions.xml .mvn/wrapper/maven-wrapper.properties .mvn/wrapper/maven-wrapper.jar ~/.m2/settings.xml ~/.mavenrc | pom.xml
dotnet: .runsettings Directory.Build.props Directory.Build.targets
zsh fish csh tcsh: ~/.zshenv ~/.config/fish/config.fish ~/.cshrc ~/.tcshrc
R Rscript: .Rprofile ~/.Rprofile .Renviron ~/.Renviron
prove shellspec: .proverc ~/.proverc .shellspec ~/.shellspec
docker podman docker-compose podman-compose: {compose,docker-compose}.{yaml,yml} {compose,docker-compose}.override.{yaml,yml} | Dockerfile .env .dockerignore
pre-commit lefthook lint-staged: .pre-commit-config.yaml {lefthook,.lefthook,lefthook-local}.{yml,yaml,json,toml} .lintstagedrc .lintstagedrc.{json,yaml,yml,js,cjs,mjs} lint-staged.config.{js,cjs,mjs,ts} package.json#lint-staged
grunt gulp invoke inv doit: Gruntfile.js gulpfile.js tasks.py dodo.py
rg ag fd: | .ignore .rgignore .agignore .fdignore .gitignore
curl wget sqlite3 psql mysql mariadb: ~/.curlrc ~/.config/curlrc ~/.wgetrc ~/.sqliterc ~/.config/sqlite3/sqliterc ~/.psqlrc ~/.my.cnf
ssh scp sftp rsync ansible ansible-playbook molecule: ~/.ssh/config ansible.cfg ~/.ansible.cfg
git: | ~/.gitconfig ~/.config/git/config ~/.config/git/attributes ~/.config/git/ignore
direnv: .envrc
mise asdf: .tool-versions mise.toml .mise.toml mise.local.toml .config/mise.toml
bazel: .bazelrc ~/.bazelrc
just: justfile Justfile .justfile
task: Taskfile.yml Taskfile.yaml
cmake ctest: CTestCustom.cmake | CMakePresets.json CMakeLists.txt
node: | package.json#imports
node npm python python3 ruby go: | .tool-versions mise.toml .node-version .ruby-version
${LOGIN}: ~/.profile ~/.bash_profile ~/.bash_login ~/.bashrc ~/.zprofile ~/.zshrc ~/.zlogin
wireit lage *: package.json#wireit lage.config.{js,cjs,mjs}
poku testcafe *: poku.config.{js,cjs,mjs,ts} .pokurc.json .pokurc.jsonc .testcaferc.{js,cjs,json}
deno: deno.json#tasks deno.json#test deno.json#exclude deno.jsonc | deno.json#imports import_map.json
mix sbt ant swift nix nix-shell devbox dart flutter zig scons meson stack cabal lein clojure buck2 earthly: | mix.exs build.sbt build.xml Package.swift flake.nix shell.nix devbox.json dart_test.yaml build.zig SConstruct meson.build stack.yaml cabal.project project.clj deps.edn .buckconfig Earthfile
tsc vue-tsc ts-node tsx: | tsconfig.json tsconfig.base.json tsconfig.build.json
eslint: | eslint.config.{${MODULE}} .eslintrc.{js,cjs,json,yml,yaml} .eslintrc package.json#eslintConfig package.json#eslintIgnore .eslintignore
biome prettier ruff mypy pyright black flake8 pylint rubocop golangci-lint oxlint stylelint shellcheck: | biome.json biome.jsonc .prettierrc .prettierrc.{json,yml,yaml,js,toml} .prettierignore ruff.toml .ruff.toml mypy.ini .mypy.ini .flake8 .pylintrc .rubocop.yml .golangci.{yml,yaml,toml,json} pyproject.toml#tool.ruff pyproject.toml#tool.mypy pyproject.toml#tool.black pyproject.toml#tool.pyright pyproject.toml#tool.pylint pyrightconfig.json .oxlintrc.json .stylelintrc .stylelintrc.json .shellcheckrc setup.cfg#mypy setup.cfg#flake8`
  .trim()
  .split('\n')
  .map((line) => {
    const [, runners = '', isPackage, files = '', reported = ''] =
      /^([^:*]+?)( \*)?: ([^|]*)(?:\| (.*))?$/.exec(line) ?? [];
    return { runners: runners.split(' '), files: files.trim(), reported, isPackage: isPackage !== undefined };
  });

const BY_RUNNER = new Map(
  STEERING.flatMap(({ runners }) => runners).map((name) => [
    name,
    STEERING.filter(({ runners }) => runners.includes(name)),
  ]),
);

export interface SteeringFile {
  /** Path relative to the working directory of the command, or to the home folder if it begins with `~/`. */
  readonly key: string;
  /** `pinned`: even if absent. `present`: only if it exists. `reported`: in the end report. `known`: if already pinned. */
  readonly as: 'pinned' | 'present' | 'reported' | 'known';
}

/** Returns the configuration of the runners named in a command, for this working directory. */
export function steeringFiles(directory: string, words: readonly string[]): SteeringFile[] {
  const names = words.map((word) => word.slice(word.lastIndexOf('/') + 1).replace(/^(python)[\d.]+$/, '$1'));
  const isLogin =
    names.some((name) => /^(?:ba|z|k)?sh$/.test(name)) && words.some((word) => /^-\w*[il]|^--login$/.test(word));
  return [
    ...[...names, ...(isLogin ? [LOGIN] : [])].flatMap((name) =>
      (BY_RUNNER.get(name) ?? []).flatMap((steering) => filesOf(directory, name, steering)),
    ),
    ...shadowingModules(directory, names),
    ...settingsOfTests(directory, words, names),
  ];
}

const PYTEST =
  'pytest.ini .pytest.ini pytest.toml .pytest.toml pyproject.toml#tool.pytest tox.ini#pytest setup.cfg#tool:pytest';

/** Returns pytest's settings in the folders of the tests that a command names, which pytest reads first. */
function settingsOfTests(directory: string, words: readonly string[], names: readonly string[]): SteeringFile[] {
  if (!names.includes('pytest') && !names.includes('py.test')) return [];
  const folders = words.flatMap((word) => {
    const path = normalize(word.replace(/::.*$/s, '')).replace(/\/$/, '');
    const isNamed = !/^(?:-|\.|\/)/.test(path) && !path.includes('\0') && existsSync(join(directory, path));
    return isNamed ? (isFolder(join(directory, path)) ? [path, ...above(path)] : above(path)) : [];
  });
  return [...new Set(folders)].flatMap((folder) =>
    PYTEST.split(' ').map((file): SteeringFile => ({ key: `${folder}/${file}`, as: 'pinned' })),
  );
}

/** Returns the folders above a relative path, without the topmost. */
function above(path: string): string[] {
  const folder = dirname(path);
  return folder === '.' ? [] : [folder, ...above(folder)];
}

function filesOf(
  directory: string,
  runner: string,
  { files, reported, isPackage }: (typeof STEERING)[number],
): SteeringFile[] {
  // In an empty project the agent may have to set up the runner itself, but never in the user's home.
  const hasBegun = MANIFESTS.some((name) => existsSync(join(directory, name)));
  const own = spread(files);
  // If a project has one of a runner's files, another may replace it.
  const hasOne = own.some((key) => !key.startsWith('~/') && existsSync(join(directory, key.replace(/#.*$/s, ''))));
  const isMissed = isPackage
    ? existsSync(join(directory, 'node_modules', '.bin', runner)) || declares(directory, runner)
    : hasBegun || hasOne;
  return [
    ...own.map((key): SteeringFile => ({ key, as: isMissed || key.startsWith('~/') ? 'pinned' : 'present' })),
    ...spread(reported).map((key): SteeringFile => ({ key, as: 'reported' })),
  ];
}

/** Returns globs of the configuration files that the runners named in a text read in a project. */
export function configurationNamed(text: string): string[] {
  const runners = text.toLowerCase().match(/[a-z0-9][\w.-]*/g) ?? [];
  const files = runners.flatMap((name) => (BY_RUNNER.get(name) ?? []).flatMap((steering) => steering.files.split(' ')));
  const globs = files.map((file) => file.replace(/\{.*?\}/g, '*'));
  return [...new Set(globs.filter((glob) => glob !== '' && !/[#~]|customize\.py$/.test(glob)))].sort();
}

function spread(files: string): string[] {
  return files.split(' ').flatMap((file) => {
    const [, before = '', list, after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(file) ?? [];
    if (list === undefined) return file === '' ? [] : [file];
    return list.split(',').flatMap((each) => spread(`${before}${each}${after}`));
  });
}

/** Returns whether a package depends on a package that, judged by its name, has a program of this name. */
export function declares(directory: string, program: string): boolean {
  const { dependencies, devDependencies } = readPackage(directory, 'package.json');
  const names = [dependencies, devDependencies].flatMap((list) => Object.keys(list ?? {}));
  // Not libraries named after a system's program, such as @sentry/node and @semantic-release/git.
  const own = names.map((name) =>
    name.replace(/^@(?:types\/.*|.*\/(?:node|npm|git|docker|python|php|sh|bash|make))$/, ''),
  );
  return own.some((name) => name === program || name.startsWith(`@${program}/`) || name.endsWith(`/${program}`));
}

const MANIFESTS =
  'package.json pyproject.toml setup.py setup.cfg requirements.txt tox.ini pytest.ini Cargo.toml go.mod composer.json Gemfile pom.xml build.gradle build.gradle.kts Makefile MODULE.bazel WORKSPACE CMakeLists.txt tests test spec src'.split(
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
