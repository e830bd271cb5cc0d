import type { Call } from './call.ts';
import { gitWords } from './git-words.ts';
import { splitOptions } from './split-options.ts';
import type { Walk } from './walk.ts';

/** Reads what git itself is told to run: an alias given by -c, `rebase -x`, `submodule foreach`, `bisect run`. */
export function openGitCommands(call: Call, walk: Walk): void {
  const inner = { ...walk, via: [...walk.via, 'git'], position: walk.position ?? call.position };
  for (const text of textsOf(call)) walk.text(text, [call.world], call.stdin, inner);
}

function textsOf(call: Call): string[] {
  const { words, aliased } = gitWords(call.words);
  if (aliased?.startsWith('!')) return [aliased.slice(1)];
  const [subcommand, ...args] = words;
  const texts = args.map((word) => word.template);
  switch (subcommand?.template) {
    case 'rebase':
      return splitOptions(args, '-x --exec').options.flatMap(({ name, value }) =>
        /^(-x|--exec)$/.test(name) && value !== undefined ? [value.template] : [],
      );
    case 'filter-branch':
      return texts.flatMap((text, index) => (/^--[a-z-]+-filter$/.test(texts[index - 1] ?? '') ? [text] : []));
    case 'submodule':
      return texts[0] === 'foreach'
        ? [
            texts
              .slice(1)
              .filter((text) => !/^--(recursive|quiet)$/.test(text))
              .join(' '),
          ]
        : [];
    case 'bisect':
      return texts[0] === 'run' ? [texts.slice(1).join(' ')] : [];
    default:
      return [];
  }
}
