import { hasOption, optionValue, splitOptions } from '../split-options.ts';
import { wordOf } from '../word-builder.ts';
import { joinWords } from './join-words.ts';
import type { PathUser } from './path-user.ts';

/** Programs that save what they load from the network. */
export const FETCHERS: Readonly<Record<string, PathUser>> = {
  curl: (uses) => {
    const split = splitOptions(
      uses.args,
      '-o -d -H -X -u -A -b -c -e -F -T -x -m -w -D -K -E --output --output-dir --data --header --request --user --cookie-jar --dump-header --upload-file --max-time --config --retry --url',
    );
    const directory = optionValue(split, '--output-dir');
    const place = (word: typeof directory): typeof directory =>
      word !== undefined && directory !== undefined && !word.template.startsWith('/')
        ? { ...wordOf(`${directory.template}/${word.template}`, word.source) }
        : word;
    for (const { name, value } of split.options) {
      const saves =
        /^(-o|--output|-c|--cookie-jar|-D|--dump-header)$/.test(name) && value !== undefined && value.template !== '-';
      const target = saves ? place(value) : undefined;
      if (target !== undefined) uses.write(target, 'argument');
    }
    if (hasOption(split, '-O', '--remote-name', '--remote-name-all')) {
      for (const url of split.operands)
        uses.write(joinWords(directory ?? wordOf('.'), wordOf(withoutQuery(url.template))), 'argument');
    }
  },
  wget: (uses) => {
    const split = splitOptions(
      uses.args,
      '-O -P -o -a -i -t -T -U --output-document --directory-prefix --output-file --append-output --header --user --password',
    );
    const output = optionValue(split, '-O', '--output-document');
    if (output !== undefined) {
      if (output.template !== '-') uses.write(output, 'argument');
    } else {
      const directory = optionValue(split, '-P', '--directory-prefix') ?? wordOf('.');
      for (const url of split.operands)
        uses.write(joinWords(directory, wordOf(withoutQuery(url.template))), 'argument');
    }
    const log = optionValue(split, '-o', '-a', '--output-file', '--append-output');
    if (log !== undefined) uses.write(log, 'argument');
  },
};

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/, '');
}
