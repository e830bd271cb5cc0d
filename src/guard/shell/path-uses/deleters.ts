import { UNKNOWN } from '../shell-reading.ts';
import { hasOption, splitOptions } from '../split-options.ts';
import { searchedTree } from '../unwrap-find.ts';
import type { PathUser } from './path-user.ts';

const remove: PathUser = (uses) => {
  const split = splitOptions(uses.args, '--interactive --preserve-root');
  const recursive = hasOption(split, '-r', '-R', '-d', '--recursive', '--dir');
  for (const word of split.operands) uses.write(word, 'delete', { recursive });
};

const removeAll: PathUser = (uses) => {
  for (const word of splitOptions(uses.args, '').operands) uses.write(word, 'delete', { recursive: true });
};

/** What takes files away. */
export const DELETERS: Readonly<Record<string, PathUser>> = {
  rm: remove,
  del: remove,
  unlink: remove,
  rmdir: removeAll,
  trash: removeAll,
  'trash-put': removeAll,
  rimraf: removeAll,
  'del-cli': removeAll,
  shred: (uses) => {
    for (const word of splitOptions(uses.args, '-n -s --iterations --size --random-source').operands)
      uses.write(word, 'delete');
  },
  gio: (uses) => {
    if (uses.args[0]?.template === 'trash')
      for (const word of uses.args.slice(1)) uses.write(word, 'delete', { recursive: true });
  },
  find: (uses) => {
    const texts = uses.args.map((word) => word.template);
    texts.forEach((text, index) => {
      const value = uses.args[index + 1];
      if (/^-f(print0?|ls|printf)$/.test(text) && value !== undefined) uses.write(value, 'argument');
    });
    if (!texts.includes('-delete')) return;
    const under = searchedTree({ words: uses.words, world: uses.world, ...EMPTY });
    uses.write({ text: null, template: UNKNOWN, source: 'find -delete', under }, 'delete', { recursive: true });
  },
};

const EMPTY = { assignments: [], stdin: { kind: 'none', text: '' }, source: '', position: 0 } as const;
