import { splitOptions } from '../split-options.ts';
import type { PathUser } from './path-user.ts';

function readsAll(values: string, skip = 0): PathUser {
  return (uses) => {
    for (const word of splitOptions(uses.args, values).operands.slice(skip)) uses.read(word);
  };
}

const search = (values: string): PathUser => {
  return (uses) => {
    const split = splitOptions(uses.args, values);
    const given = split.options.some((option) => /^(-e|-f|--regexp|--file|--files)$/.test(option.name));
    for (const word of given ? split.operands : split.operands.slice(1)) uses.read(word);
  };
};

const GREP = '-e -f -A -B -C -m -d -D --regexp --file --include --exclude --exclude-dir --max-count --context --color';

/** Programs that read the files they are given. */
export const READERS: Readonly<Record<string, PathUser>> = {
  cat: readsAll(''),
  tac: readsAll(''),
  bat: readsAll('-l -r --language --line-range'),
  nl: readsAll('-b -w -s'),
  head: readsAll('-n -c --lines --bytes'),
  tail: readsAll('-n -c -s --lines --bytes --pid'),
  less: readsAll('-p'),
  more: readsAll(''),
  cut: readsAll('-d -f -c -b --delimiter --fields'),
  paste: readsAll('-d'),
  tr: () => {},
  wc: readsAll(''),
  diff: readsAll('-U -C --label'),
  cmp: readsAll('-n -i'),
  comm: readsAll(''),
  uniq: (uses) => {
    const { operands } = splitOptions(uses.args, '-f -s -w');
    if (operands[0] !== undefined) uses.read(operands[0]);
    if (operands[1] !== undefined) uses.write(operands[1], 'argument');
  },
  base64: readsAll('-w -i -o'),
  xxd: (uses) => {
    const { operands } = splitOptions(uses.args, '-c -g -l -s -n -o');
    if (operands[0] !== undefined) uses.read(operands[0]);
    if (operands[1] !== undefined) uses.write(operands[1], 'argument');
  },
  od: readsAll('-A -j -N -t -w'),
  hexdump: readsAll('-e -n -s'),
  strings: readsAll('-n -t -e'),
  file: readsAll('-m -F'),
  stat: readsAll('-c -f --format --printf'),
  md5sum: readsAll(''),
  sha1sum: readsAll(''),
  sha256sum: readsAll(''),
  shasum: readsAll('-a'),
  cksum: readsAll('-a'),
  grep: search(GREP),
  egrep: search(GREP),
  fgrep: search(GREP),
  zgrep: search(GREP),
  rg: search('-e -f -A -B -C -m -g -t -T --regexp --file --glob --type --max-count --context'),
  ag: search('-A -B -C -G -m'),
  ack: search('-A -B -C'),
  jq: readsAll('--arg --argjson --slurpfile --rawfile --indent -f --from-file', 1),
  node: (uses) => {
    const script = splitOptions(uses.args, '-r -C -e -p --require --import --loader --env-file --eval --print', true)
      .operands[0];
    if (script !== undefined) uses.read(script);
  },
};
