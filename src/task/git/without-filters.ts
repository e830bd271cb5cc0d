import type { GitAnswer, Settings } from './run-git.ts';

type Ask = (words: readonly string[], settings?: Settings) => Promise<GitAnswer>;

const PROGRAMS_OF_FILTERS = [
  ...['config', '--null', '--show-scope', '--includes', '--name-only', '--get-regexp'],
  '^filter\\..*\\.(clean|smudge|process|required)$',
];

/** Queries git with the filter programs of the repository's configuration disabled, which it runs to compare contents. */
export async function askWithoutFilters(ask: Ask, words: readonly string[]): Promise<GitAnswer> {
  const filters = await ask(PROGRAMS_OF_FILTERS);
  const hasNone = filters.kind === 'failed' && filters.code === 1;
  if (filters.kind !== 'answer' && !hasNone) return filters;
  return ask(words, filters.kind === 'answer' ? withoutPrograms(filters.text) : []);
}

function withoutPrograms(answer: string): Settings {
  const parts = answer.split('\0');
  const names = new Set<string>();
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const key = parts[at + 1] ?? '';
    if (parts[at] === 'local' || parts[at] === 'worktree') names.add(key.slice(0, key.lastIndexOf('.')));
  }
  const off = [['clean', ''] as const, ['process', ''] as const, ['required', 'false'] as const];
  return [...names].flatMap((name) => off.map(([key, value]) => [`${name}.${key}`, value] as const));
}
