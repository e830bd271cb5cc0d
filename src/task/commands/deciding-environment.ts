/** Variables that decide which programs run and what they do: with `SHELLOPTS=noexec`, every command passes. */
const DECIDING = new RegExp(
  `^(?:${[
    // the system, and the locations of programs' settings
    ...['PATH', 'PATHEXT', 'HOME', 'USERPROFILE', 'XDG_CONFIG_\\w+', 'LD_\\w+', 'DYLD_\\w+'],
    // shells: a function BASH_FUNC_node%% replaces the program
    ...['SHELL', 'SHELLOPTS', 'BASHOPTS', 'BASH_ENV', 'ENV', 'ZDOTDIR', 'BASH_FUNC_.+'],
    ...['NODE_\\w+', 'npm_config_.+', 'MAKEFLAGS', 'MFLAGS', 'GNUMAKEFLAGS', 'MAKEFILES'],
    ...['PYTHON\\w+', 'PYTEST_\\w+', 'RUBY\\w+', 'GEM_\\w+', 'BUNDLE_\\w+', 'PERL\\w+', 'PHPRC', 'PHP_INI_SCAN_DIR'],
    ...['JAVA_\\w+', '_JAVA_OPTIONS', 'JDK_JAVA_OPTIONS', 'CLASSPATH', 'MAVEN_\\w+', 'GRADLE_\\w+', 'DOTNET_\\w+'],
    ...['GO(?:FLAGS|ROOT|PATH|ENV)', 'RUSTC\\w*', 'RUSTFLAGS', 'CARGO_\\w+'],
  ].join('|')})$`,
  'i',
);
/** Pattern for names of credentials, which are never stored. */
const CREDENTIAL = /auth|token|passw|secret|_key$/i;

const decides = (name: string): boolean => DECIDING.test(name) && !CREDENTIAL.test(name);

/** Returns the part of the consenting user's environment that is stored with a list. */
export function decidingEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value !== undefined && decides(name) ? [[name, value]] : [])),
  );
}

/** Restores the environment of the consent, so that `PATH=./fake:$PATH` before a step has no effect. */
export function withDeciding(
  env: NodeJS.ProcessEnv,
  kept: Readonly<Record<string, string>>,
): Record<string, string | undefined> {
  const own = Object.entries(env).filter(([name]) => !decides(name));
  return { ...Object.fromEntries(own), ...kept };
}
