/**
 * Names of what decides which program a command's words mean, what that program loads before it begins, and whether it
 * does anything at all: `SHELLOPTS=noexec` and `MAKEFLAGS=n` have every command pass. In any case: npm reads its own so,
 * and Windows all of them.
 */
const DECIDING = new RegExp(
  `^(?:${[
    // the system, and where programs look for their settings
    ...['PATH', 'PATHEXT', 'HOME', 'USERPROFILE', 'XDG_CONFIG_\\w+', 'LD_\\w+', 'DYLD_\\w+'],
    // shells: BASH_FUNC_node%% is a function that stands for the program
    ...['SHELL', 'SHELLOPTS', 'BASHOPTS', 'BASH_ENV', 'ENV', 'ZDOTDIR', 'BASH_FUNC_.+'],
    ...['NODE_\\w+', 'npm_config_.+', 'MAKEFLAGS', 'MFLAGS', 'GNUMAKEFLAGS', 'MAKEFILES'],
    ...['PYTHON\\w+', 'PYTEST_\\w+', 'RUBY\\w+', 'GEM_\\w+', 'BUNDLE_\\w+', 'PERL\\w+', 'PHPRC', 'PHP_INI_SCAN_DIR'],
    ...['JAVA_\\w+', '_JAVA_OPTIONS', 'JDK_JAVA_OPTIONS', 'CLASSPATH', 'MAVEN_\\w+', 'GRADLE_\\w+', 'DOTNET_\\w+'],
    ...['GO(?:FLAGS|ROOT|PATH|ENV)', 'RUSTC\\w*', 'RUSTFLAGS', 'CARGO_\\w+'],
  ].join('|')})$`,
  'i',
);
/** Credentials decide nothing, and are not to be written down. */
const CREDENTIAL = /auth|token|passw|secret|_key$/i;

type Environment = Readonly<Record<string, string | undefined>>;

const decides = (name: string): boolean => DECIDING.test(name) && !CREDENTIAL.test(name);

/** The part of an environment that a list keeps, of whoever agreed to its commands. */
export function decidingEnvironment(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value !== undefined && decides(name) ? [[name, value]] : [])),
  );
}

/** An environment in which the same programs run as for whoever agreed: `PATH=./fake:$PATH` before a step changes nothing. */
export function withDeciding(
  env: Environment,
  kept: Readonly<Record<string, string>>,
): Record<string, string | undefined> {
  const own = Object.entries(env).filter(([name]) => !decides(name));
  return { ...Object.fromEntries(own), ...kept };
}
