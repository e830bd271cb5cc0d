import type { ShellWord } from '../shell-reading.ts';
import { hasOption, optionValue, splitOptions } from '../split-options.ts';
import { wordOf } from '../word-builder.ts';
import { joinWords } from './join-words.ts';
import type { PathUser, PathUses } from './path-user.ts';

/** Programs that save what they load from the network. */
export const FETCHERS: Readonly<Record<string, PathUser>> = {
  curl: (uses) => {
    const split = splitOptions(
      uses.args,
      '-o -d -H -X -u -A -b -c -e -F -T -x -m -w -D -K -E --output --output-dir --data --data-binary --data-raw --data-ascii --data-urlencode --json --form --header --request --user --cookie --cookie-jar --dump-header --upload-file --max-time --config --retry --url --netrc-file --cert --key --cacert',
    );
    for (const url of split.operands) {
      const path = /^file:\/\/(?:localhost)?(\/.*)$/is.exec(url.template)?.[1];
      if (path !== undefined) uses.read(wordOf(path, url.source));
    }
    for (const { name, value } of split.options) if (value !== undefined) sendsFile(name, value, uses);
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
      '-O -P -o -a -i -t -T -U --output-document --directory-prefix --output-file --append-output --header --user --password --post-file --body-file --input-file --load-cookies',
    );
    for (const { name, value } of split.options) {
      if (/^(--post-file|--body-file|-i|--input-file|--load-cookies)$/.test(name) && value !== undefined)
        uses.read(value);
    }
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

const TAKES_FILE = /^(-T|--upload-file|-K|--config|--netrc-file|-E|--cert|--key|-b|--cookie)$/;
const TAKES_AT = /^(-d|--data|--data-binary|--data-ascii|--data-urlencode|--json|-H|--header)$/;

/** `-T FILE`, `-d @FILE`, `-F name=@FILE`: what curl reads and sends. */
function sendsFile(name: string, value: ShellWord, uses: PathUses): void {
  if (TAKES_FILE.test(name)) {
    if (value.template !== '-') uses.read(value);
    return;
  }
  const at = TAKES_AT.test(name) ? /^[^=@]*@(.+)$/s : /^(?:-F|--form)$/.test(name) ? /^[^=]*=[@<]([^;]+)/s : null;
  const path = at?.exec(value.template)?.[1];
  if (path !== undefined && path !== '-') uses.read({ ...wordOf(path, value.source), ...underOf(value) });
}

function underOf({ under }: ShellWord): Pick<ShellWord, 'under'> {
  return under === undefined ? {} : { under };
}

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/, '');
}
