import { GIT_VALUES, gitWords } from './git-words.ts';
import type { ShellCommand, ShellWord } from './shell-reading.ts';
import { splitOptions } from './split-options.ts';

/** Options that take a value of their own, by program. */
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

/** The program's name; `git-push` is a program of its own and git's subcommand. */
export function programName(command: ShellCommand): string {
  return command.name.startsWith('git-') ? 'git' : command.name;
}

/**
 * The words of a command from its subcommand on, options before it and their values left out:
 * `git -C x -c a=b push --force origin` is push, --force, origin. null for a program whose options are not known.
 */
export function subcommandWords(command: ShellCommand): readonly ShellWord[] | null {
  const { name, argv } = command;
  if (name === 'git') return gitWords(argv).words;
  const [first] = argv;
  if (name.startsWith('git-') && first !== undefined) {
    const subcommand = name.slice('git-'.length);
    return [{ ...first, text: subcommand, template: subcommand }, ...argv.slice(1)];
  }
  const values = valuesOf(name);
  return values === undefined ? null : splitOptions(argv.slice(1), values, true).operands;
}

/**
 * The first words of a command that name what it does, options and their values skipped:
 * `git -C x -c a=b push --force origin` is push, origin. null stands for a word that is not literal.
 */
export function namedWords(command: ShellCommand): Array<string | null> {
  const words = subcommandWords(command) ?? command.argv.slice(1);
  const values = programName(command) === 'git' ? '' : (valuesOf(command.name) ?? '');
  return splitOptions(words, values).operands.map(literal);
}

/** Whether the options of a program are known, so that its named words are surely these. */
export function hasKnownOptions(command: ShellCommand): boolean {
  return valuesOf(programName(command)) !== undefined;
}

/** A word's text; null for one that is known only at run time. */
export function literal(word: ShellWord): string | null {
  return word.glob === true ? null : word.text;
}

function valuesOf(name: string): string | undefined {
  return Object.hasOwn(VALUES, name) ? VALUES[name] : undefined;
}
