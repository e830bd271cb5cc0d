import { GIT_VALUES, gitWords } from './git-words.ts';
import type { ShellCommand, ShellWord } from './shell-reading.ts';
import { splitOptions } from './split-options.ts';

/** Spec 01, D18: options that take a value of their own, by program. */
const VALUES: Readonly<Record<string, string>> = {
  git: GIT_VALUES,
  docker:
    '-c -H -l --config --context --host --log-level --tlscacert --tlscert --tlskey -f --file -p --project-name --profile --env-file --project-directory',
  npm: '-w --workspace --prefix -C --registry --userconfig --globalconfig --loglevel --tag --otp --cache --access',
  pnpm: '-C --dir -F --filter --reporter --loglevel --workspace-concurrency --registry --tag --otp',
  yarn: '--cwd --use-yarnrc --registry --cache-folder --modules-folder --mutex',
  kubectl:
    '-n -s --namespace --server --context --cluster --user --kubeconfig --token --as --as-group --request-timeout --cache-dir --certificate-authority --client-certificate --client-key --profile --tls-server-name -v --v -l --selector -f --filename',
  gh: '-R --repo --hostname',
  cargo: '-C -Z --config --color --manifest-path --target --target-dir -p --package --features -j --jobs',
  terraform: '-chdir',
};

/**
 * The first words of a command that name what it does, options and their values skipped:
 * `git -C x -c a=b push --force origin` is push, origin. null stands for a word that is not literal.
 */
export function namedWords(command: ShellCommand): Array<string | null> {
  if (command.name === 'git') {
    const { words } = gitWords(command.argv);
    return literal(splitOptions(words, '').operands);
  }
  const values = Object.hasOwn(VALUES, command.name) ? VALUES[command.name] : undefined;
  return literal(splitOptions(command.argv.slice(1), values ?? '').operands);
}

function literal(words: readonly ShellWord[]): Array<string | null> {
  return words.map((word) => (word.glob === true ? null : word.text));
}
