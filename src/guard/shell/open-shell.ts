import { addPathUses } from './add-path-uses.ts';
import type { Call } from './call.ts';
import { fileKey } from './file-key.ts';
import { recordCommand, recordOpened } from './record-command.ts';
import { UNKNOWN } from './shell-reading.ts';
import { isStandardInput } from './shells.ts';
import type { Outcome, Walk } from './walk.ts';
import { literalOrNull, report, UNKNOWN_STREAM } from './walk.ts';

/** `-o pipefail`, `-euo pipefail`, `--rcfile x`: the next word belongs to them. */
const TAKES_VALUE = /^[-+][a-zA-Z]*[oO]$|^--(?:rcfile|init-file)$/;

/** `bash -c TEXT`, `… | bash`, `bash <<EOF`, `bash FILE`: what the shell is given, as far as it is known. */
export function openShell(call: Call, name: string, walk: Walk): Outcome {
  const inner = { ...walk, via: [...walk.via, name], position: walk.position ?? call.position };
  const args = call.words.slice(1);
  let at = 0;
  let takesText = false;
  let takesStdin = false;
  for (; at < args.length; at += 1) {
    const option = args[at]?.template ?? '';
    if (/^-[a-zA-Z]*c/.test(option) || option === '--command') takesText = true;
    if (TAKES_VALUE.test(option)) at += 1;
    else if (option === '--' || option === '-') {
      at += 1;
      break;
    } else if (!/^[-+]/.test(option)) break;
    else if (/^-[a-zA-Z]*s/.test(option)) takesStdin = true;
  }
  const rest = args.slice(at);
  const first = rest[0];
  if (takesText) {
    recordOpened(call, name, walk);
    return runText(first?.template ?? '', rest.slice(2), 'dynamic-command');
  }
  if (first !== undefined && !takesStdin) {
    const content = first.content ?? call.world.files.get(fileKey(first.template, call.world));
    if (isStandardInput(first.template)) return runInput();
    if (content !== undefined) {
      if (first.content === undefined) record();
      else recordOpened(call, name, walk);
      return runText(content, rest.slice(1), 'dynamic-piped-to-shell');
    }
    record();
    return { worlds: [call.world], output: UNKNOWN_STREAM };
  }
  return runInput();

  function runInput(): Outcome {
    if (call.stdin.kind === 'none') {
      record();
      return { worlds: [call.world], output: UNKNOWN_STREAM };
    }
    if (call.stdin.text.includes(UNKNOWN)) record();
    else recordOpened(call, name, walk);
    return runText(call.stdin.text, takesStdin ? rest : [], 'dynamic-piped-to-shell');
  }

  function runText(
    text: string,
    positional: Call['words'],
    kind: 'dynamic-command' | 'dynamic-piped-to-shell',
  ): Outcome {
    if (text.includes(UNKNOWN)) {
      report(
        walk,
        text === UNKNOWN ? kind : 'dynamic-piped-to-shell',
        call.source,
        call.position,
        literalOrNull(call.world.cwd),
      );
    }
    const world = { ...call.world, positional: positional.map(({ template }) => ({ template })) };
    const { output } = walk.text(text, [world], call.stdin, inner);
    return { worlds: [call.world], output };
  }

  function record(): void {
    addPathUses(recordCommand(call, name, walk), call, walk);
  }
}
