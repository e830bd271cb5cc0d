/**
 * What commands of the tests are started with: nothing by which a shell, git or a loop is told otherwise where the tests
 * themselves run, in a hook of a repository or in a loop's own client. Our own runner's variable would make a node:test in
 * a command believe that it is nested, and a bash warns of a language that the system does not have.
 */
export const ENV: NodeJS.ProcessEnv = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:GIT_|RALPH_|LC_|NODE_TEST_CONTEXT$|BASH_ENV$)/.test(name)),
  ),
  LC_ALL: 'C',
};
