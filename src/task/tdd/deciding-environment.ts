/** What decides which program a command's words mean, and what it loads before it begins. */
const DECIDING = [
  ...['PATH', 'SHELL', 'BASH_ENV', 'ENV', 'LD_PRELOAD', 'LD_LIBRARY_PATH', 'DYLD_INSERT_LIBRARIES'],
  ...[
    'NODE_OPTIONS',
    'NODE_PATH',
    'PYTHONPATH',
    'PYTHONHOME',
    'PYTHONSTARTUP',
    'RUBYOPT',
    'RUBYLIB',
    'PERL5OPT',
    'PERL5LIB',
  ],
  ...['JAVA_TOOL_OPTIONS', 'npm_config_script_shell'],
];

type Environment = Readonly<Record<string, string | undefined>>;

/** The part of an environment that a list keeps, of whoever agreed to its commands. */
export function decidingEnvironment(env: Environment): Record<string, string> {
  return Object.fromEntries(DECIDING.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}

/** An environment in which the same programs run as for whoever agreed: `PATH=./fake:$PATH` before a step changes nothing. */
export function withDeciding(
  env: Environment,
  kept: Readonly<Record<string, string>>,
): Record<string, string | undefined> {
  const own = Object.entries(env).filter(([name]) => !DECIDING.includes(name));
  return { ...Object.fromEntries(own), ...kept };
}
