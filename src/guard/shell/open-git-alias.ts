import type { Call } from './call.ts';
import { gitWords } from './git-words.ts';
import type { Walk } from './walk.ts';

/** `git -c alias.x='!command' x`: the command that the alias runs. */
export function openGitAlias(call: Call, walk: Walk): void {
  const { aliased } = gitWords(call.words);
  if (aliased === undefined || !aliased.startsWith('!')) return;
  const inner = { ...walk, via: [...walk.via, 'git'], position: walk.position ?? call.position };
  walk.text(aliased.slice(1), [call.world], call.stdin, inner);
}
