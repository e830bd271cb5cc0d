import type { Redirection } from 'unbash';
import { addRead, addWrite } from './add-path-use.ts';
import { expandToText, expandToValue, expandWord } from './expand-word.ts';
import { fileKey } from './file-key.ts';
import type { ShellWord } from './shell-reading.ts';
import type { Stream, Walk } from './walk.ts';
import { UNKNOWN_STREAM } from './walk.ts';
import type { World } from './world.ts';

interface Redirected {
  readonly stdin: Stream;
  /** Where standard output goes; null when it is not sent to a file. */
  readonly stdoutTo: ShellWord | null;
}

/** Records what redirections write and read, and says what standard input is then. */
export function readRedirections(
  redirects: readonly Redirection[],
  worlds: readonly World[],
  stdin: Stream,
  by: string,
  walk: Walk,
): Redirected {
  let input = stdin;
  let stdoutTo: ShellWord | null = null;
  for (const world of worlds) {
    for (const redirect of redirects) {
      if (redirect.type === 'HereDoc') {
        const { body, delimiter } = redirect;
        const live = delimiter?.quoted !== true && /[`$\\]/.test(body.text);
        const text = live && body.parts !== undefined ? expandToText(body.parts, world, walk) : body.text;
        input = { kind: 'literal', text };
        continue;
      }
      if (redirect.target === undefined) continue;
      if (redirect.type === 'HereString') {
        const value = expandToValue(redirect.target, world, walk);
        input = { kind: 'literal', text: `${value.template}\n`, ...(value.under ? { under: value.under } : {}) };
        continue;
      }
      const duplicates = redirect.operator === '<&' || redirect.operator === '>&';
      for (const word of expandWord(redirect.target, world, walk)) {
        if (duplicates && /^(\d+-?|-)$/.test(word.template)) {
          // What another descriptor leads to is not followed.
          if (redirect.operator === '<&' && /^[1-9]/.test(word.template)) input = UNKNOWN_STREAM;
          continue;
        }
        if (redirect.operator === '<' || redirect.operator === '<>' || redirect.operator === '<&') {
          const known = word.content ?? fileContent(word, world);
          input = { kind: known === undefined ? 'file' : 'literal', text: known ?? '\0' };
          addRead({ word, world, by: by === '' ? '<' : by }, walk, redirect.pos);
        }
        if (redirect.operator === '<' || redirect.operator === '<&') continue;
        const descriptor = redirect.descriptor?.type === 'FileDescriptor' ? redirect.descriptor.value : 1;
        if (descriptor === 1) stdoutTo = word;
        if (word.content === undefined) addWrite({ word, world, by, how: 'redirect' }, walk, redirect.pos);
      }
    }
  }
  return { stdin: input, stdoutTo };
}

function fileContent(word: ShellWord, world: World): string | undefined {
  return world.files.get(fileKey(word.template, world));
}
