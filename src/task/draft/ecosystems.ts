export type Role = 'tests' | 'types' | 'lint' | 'build' | 'audit';

/** File in the project's root that identifies an ecosystem, or its content; `tests/test_*.py`: any matching file. */
export type Sign = string | readonly [file: string, content: RegExp];

export interface Ecosystem {
  /** Name under which its commands are listed as source. */
  readonly from: string;
  /** Any of these signs identifies it; the commands below may require more. */
  readonly when: readonly Sign[];
  /** Commands by role: the first row whose signs exist. `$by` is the first prefix whose file exists. */
  readonly commands: readonly (readonly [role: Role, run: string, ...when: Sign[]])[];
  readonly by?: readonly (readonly [prefix: string, file: string])[];
}

const PYTHON_TESTS = /^\s*(?:import unittest|from unittest\b)/m;
const PYTHON_RUNNERS = [
  ['uv run ', 'uv.lock'],
  ['poetry run ', 'poetry.lock'],
  ['pdm run ', 'pdm.lock'],
  ['pipenv run ', 'Pipfile.lock'],
] as const;

/** Commands that usually check projects of an ecosystem. package.json, make and just define their own. */
export const ECOSYSTEMS: readonly Ecosystem[] = [
  {
    from: 'Cargo.toml',
    when: ['Cargo.toml'],
    commands: [
      ['tests', 'cargo test'],
      ['lint', 'cargo clippy'],
      ['build', 'cargo build'],
    ],
  },
  {
    from: 'go.mod',
    when: ['go.mod'],
    commands: [
      ['tests', 'go test ./...'],
      ['lint', 'go vet ./...'],
      ['build', 'go build ./...'],
    ],
  },
  {
    from: 'Python',
    by: PYTHON_RUNNERS,
    when: ['pyproject.toml', 'setup.py', 'setup.cfg', 'tox.ini', 'noxfile.py', 'pytest.ini', 'conftest.py']
      .concat(['requirements.txt', 'requirements-dev.txt', 'tests/conftest.py', 'tests/test_*.py', 'test_*.py'])
      .concat(['ruff.toml', '.ruff.toml', 'mypy.ini', '.mypy.ini', '.flake8', 'tox.toml']),
    commands: [
      [
        ...(['tests', '$by pytest'] as const),
        ...['pytest.ini', 'conftest.py', 'tests/conftest.py'],
        ...([
          ['pyproject.toml', /^\[tool\.pytest|\bpytest\b/m],
          ['setup.cfg', /^\[tool:pytest\]/m],
          ['tox.ini', /^\[pytest\]/m],
          ['requirements-dev.txt', /^pytest\b/m],
          ['requirements.txt', /^pytest\b/m],
        ] as const),
      ],
      ['tests', '$by tox', 'tox.toml', ['tox.ini', /^\[(?:tox\]|testenv)/m], ['pyproject.toml', /^\[tool\.tox\b/m]],
      ['tests', '$by nox', 'noxfile.py'],
      ['tests', '$by python3 -m unittest discover -s tests', ['tests/test_*.py', PYTHON_TESTS]],
      ['tests', '$by python3 -m unittest', ['test_*.py', PYTHON_TESTS]],
      ['tests', '$by pytest', 'tests/test_*.py', 'test_*.py'],
      [
        ...(['types', '$by mypy .', 'mypy.ini', '.mypy.ini'] as const),
        ...([
          ['pyproject.toml', /^\[tool\.mypy/m],
          ['setup.cfg', /^\[mypy/m],
        ] as const),
      ],
      ['types', '$by pyright', 'pyrightconfig.json', ['pyproject.toml', /^\[tool\.pyright/m]],
      ['lint', '$by ruff check .', 'ruff.toml', '.ruff.toml', ['pyproject.toml', /^\[tool\.ruff/m]],
      ['lint', '$by flake8', '.flake8', ['setup.cfg', /^\[flake8\]/m], ['tox.ini', /^\[flake8\]/m]],
    ],
  },
  {
    from: 'black',
    by: PYTHON_RUNNERS,
    when: [['pyproject.toml', /^\[tool\.black/m]],
    commands: [['lint', '$by black --check .']],
  },
  {
    from: 'Maven',
    when: ['pom.xml'],
    commands: [
      ['tests', 'sh mvnw -B test', 'mvnw'],
      ['tests', 'mvn -B test'],
      ['build', 'sh mvnw -B -DskipTests package', 'mvnw'],
      ['build', 'mvn -B -DskipTests package'],
    ],
  },
  {
    from: 'Gradle',
    when: ['build.gradle', 'build.gradle.kts'],
    commands: [
      ['tests', 'sh gradlew test', 'gradlew'],
      ['tests', 'gradle test'],
      ['build', 'sh gradlew assemble', 'gradlew'],
      ['build', 'gradle assemble'],
    ],
  },
  {
    from: 'CMake',
    when: ['CMakeLists.txt'],
    commands: [
      [
        ...([
          'tests',
          'cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure',
        ] as const),
        ['CMakeLists.txt', /^\s*(?:enable_testing\s*\(|include\s*\(\s*CTest\b)/im],
      ],
      ['build', 'cmake -S . -B build && cmake --build build'],
    ],
  },
  {
    from: 'composer.json',
    when: ['composer.json'],
    commands: [
      ['tests', 'composer test', ['composer.json', /"test"\s*:/]],
      ['tests', 'vendor/bin/pest', 'tests/Pest.php'],
      ['tests', 'vendor/bin/phpunit', 'phpunit.xml', 'phpunit.xml.dist'],
    ],
  },
  {
    from: 'Ruby',
    by: [['bundle exec ', 'Gemfile']],
    when: ['Gemfile', 'Rakefile', '.rspec'],
    commands: [
      ['tests', '$by rspec', '.rspec', 'spec/*_spec.rb'],
      ['tests', '$by rake test', ['Rakefile', /^\s*task\s*\(?:?["']?test\b|Rake::TestTask|Minitest::TestTask/m]],
      ['lint', '$by rubocop', '.rubocop.yml'],
    ],
  },
];
