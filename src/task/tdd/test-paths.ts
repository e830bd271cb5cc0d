/** Folders of tests, and of what only tests use. */
const IN_FOLDER =
  /(?:^|\/)(?:(?:__)?(?:tests?|specs?|testing|e2e|features)(?:__)?|__(?:fixtures|mocks|snapshots)__|testdata|tap-snapshots)\//i;
const BY_NAME =
  /(?:^|\/)(?:test_[^/]*|conftest\.py|[^/]*[._-](?:test|tests|spec|cy)\.[^/]+|[^/]*(?:Test|Tests|Spec)\.[^/.]+)$/;
const CODE =
  /\.(?:[cm]?[jt]sx?|py|rb|php|go|rs|java|kts?|scala|cs|fs|swift|exs?|dart|lua|sh|bats|t|p[lm]|c|cc|cpp|hh?|hpp|clj|hs|zig|groovy|r|jl|feature)$/i;
/** What a run leaves beside its tests. */
const BY_RUNS =
  /\.(?:log|tmp|pid|lock|pyc|lcov)$|~$|(?:^|\/)(?:coverage|reports?|results?|test-results|output|te?mp|logs|screenshots|videos)\//i;
/** Names of files that a test uses in place of the real ones, and of those that may also be helpers of the code. */
const DOUBLES =
  /(?:^|[/._-])(?:fixtures?|mocks?|stubs?|fakes?|doubles|factories|test-?(?:utils?|kit|helpers?|setup))(?:[/._-]|$)/i;
const HELPERS = /(?:^|[/._-])(?:helpers?|support|setup|assertions?|matchers?|expected|golden|data)(?:[/._-]|$)/i;
/** Folders with the code under test: some languages have tests and code in one file. */
const SOURCES = /^(?:.*\/)?(?:src|lib|app|pkg|internal|cmd)\//;
const BUILT = new Set('vendor target dist build coverage venv'.split(' '));
const SNAPSHOT = /\.(?:snap|ambr)$|(?:^|\/)(?:__)?(?:tap-)?snapshots(?:__)?\//i;

export function isTest(path: string): boolean {
  return BY_NAME.test(path) || IN_FOLDER.test(path);
}

export function isCode(path: string): boolean {
  return CODE.test(path);
}

export function isTestCode(path: string): boolean {
  return isTest(path) && isCode(path);
}

/** Returns whether tests may read a file of a test folder that is no code, such as a fixture. */
export function isTestData(path: string): boolean {
  return isTest(path) && !isCode(path) && !BY_RUNS.test(path);
}

/** Returns whether a runner writes the expectations of a file, and adds those of new tests. */
export function isSnapshot(path: string): boolean {
  return SNAPSHOT.test(path);
}

export function isInSources(path: string): boolean {
  return SOURCES.test(path);
}

/** Returns whether a file outside the test folders is by its name there for tests, and in the place of something else. */
export function isDouble(path: string): boolean {
  return DOUBLES.test(path);
}

/** Returns whether a file outside the test folders and the sources is by its name there for other files. */
export function isHelper(path: string): boolean {
  return HELPERS.test(path) && !isInSources(path);
}

/** Returns whether a folder of the project holds what tools made. */
export function isLeftOut(folder: string): boolean {
  return /(?:^|\/)\.[^/]+$/.test(folder) || BUILT.has(folder);
}
