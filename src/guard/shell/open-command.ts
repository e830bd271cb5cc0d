import { addPathUses } from './add-path-uses.ts';
import type { Call } from './call.ts';
import { fileKey } from './file-key.ts';
import { literalOutput } from './literal-output.ts';
import { openGitCommands } from './open-git-commands.ts';
import { openInterpreter } from './open-interpreter.ts';
import { openShell } from './open-shell.ts';
import { recordCommand, recordOpened } from './record-command.ts';
import { runBuiltin } from './run-builtin.ts';
import { UNKNOWN } from './shell-reading.ts';
import { basenameOf, isShell } from './shells.ts';
import { unwrap } from './unwrap.ts';
import type { Outcome, Walk } from './walk.ts';
import { literalOrNull, report, SILENT, spend, UNKNOWN_STREAM } from './walk.ts';
import type { ValueWord } from './world.ts';
import { withWrittenFiles } from './written-files.ts';

/** `sudo env nice …`: more of them on one another is no command that a person writes. */
const MAX_WRAPPERS = 20;

/** Follows a command to what it really runs: functions, builtins, wrappers, shells; the innermost one is recorded. */
export function openCommand(call: Call, walk: Walk): Outcome {
  const first = call.words[0];
  if (first === undefined) return { worlds: [call.world], output: SILENT };
  if (walk.via.length > MAX_WRAPPERS) report(walk, 'too-deep', call.source, call.position, null);
  if (walk.via.length > MAX_WRAPPERS || !spend(walk, call.position)) {
    return { worlds: [call.world], output: UNKNOWN_STREAM };
  }
  const name = basenameOf(first.template);
  if (name.includes(UNKNOWN) || name === '' || (first.glob === true && name !== '[')) {
    report(walk, 'dynamic-command', call.source, call.position, literalOrNull(call.world.cwd));
    recordCommand(call, '', walk);
    return { worlds: [call.world], output: UNKNOWN_STREAM };
  }
  return (
    callFunction(call, walk) ??
    callBuiltin(call, name, walk) ??
    openWrapped(call, name, walk) ??
    (isShell(name) ? openShell(call, name, walk) : undefined) ??
    openWrittenScript(call, walk) ??
    runPlain(call, name, walk)
  );
}

function runPlain(call: Call, name: string, walk: Walk): Outcome {
  openInterpreter(call, name, walk);
  if (name === 'git') openGitCommands(call, walk);
  const command = recordCommand(call, name, walk);
  const before = walk.facts.writes.length;
  addPathUses(command, call, walk);
  const world = withWrittenFiles(call, name, walk.facts.writes.slice(before));
  return { worlds: [world], output: literalOutput(call, name) };
}

function callBuiltin(call: Call, name: string, walk: Walk): Outcome | undefined {
  const outcome = runBuiltin(call, name, walk);
  if (outcome !== undefined) recordOpened(call, name, walk);
  return outcome;
}

function openWrapped(call: Call, name: string, walk: Walk): Outcome | undefined {
  const opened = unwrap(call, name);
  if (opened === undefined) return undefined;
  const inner = { ...walk, via: [...walk.via, name], depth: walk.depth + 1 };
  // What a wrapper reads or writes by itself (find -delete, xargs -a, flock FILE) is recorded with the wrapper.
  if (opened.keepsItself) addPathUses(recordCommand(call, name, walk), call, walk);
  else recordOpened(call, name, walk);
  let outcome: Outcome = { worlds: [call.world], output: UNKNOWN_STREAM };
  for (const next of opened.next) {
    outcome =
      next.kind === 'call'
        ? openCommand(next.call, inner)
        : walk.text(next.text, [call.world], call.stdin, { ...inner, position: walk.position ?? call.position });
    if (next.kind === 'text' && next.text.includes(UNKNOWN)) {
      report(walk, 'dynamic-command', call.source, call.position, literalOrNull(call.world.cwd));
    }
  }
  return { worlds: [call.world], output: opened.next.length === 1 ? outcome.output : UNKNOWN_STREAM };
}

function callFunction(call: Call, walk: Walk): Outcome | undefined {
  const body = call.world.functions.get(call.words[0]?.template ?? '');
  if (body === undefined || walk.depth > 20) return undefined;
  const positional: ValueWord[] = call.words.slice(1).map(({ template, pattern, under }) => ({
    template,
    ...(pattern === undefined ? {} : { pattern }),
    ...(under === undefined ? {} : { under }),
  }));
  const inner = { ...walk, depth: walk.depth + 1 };
  const functions = new Map(call.world.functions);
  if (body.kind === 'alias') functions.delete(call.words[0]?.template ?? '');
  else walk.facts.called.add(body.node);
  const world = { ...call.world, positional, functions };
  const outcome =
    body.kind === 'alias'
      ? walk.text(`${body.text} "$@"`, [world], call.stdin, { ...inner, position: walk.position ?? call.position })
      : walk.node(body.node, [world], call.stdin, { ...inner, source: body.source });
  return {
    ...outcome,
    worlds: outcome.worlds.map((each) => ({
      ...each,
      positional: call.world.positional,
      // What the body defined stays defined.
      functions: new Map([...call.world.functions, ...each.functions]),
    })),
  };
}

/** `./x.sh` that this very command wrote with known content. */
function openWrittenScript(call: Call, walk: Walk): Outcome | undefined {
  const path = call.words[0]?.template ?? '';
  if (!path.includes('/')) return undefined;
  const content = call.world.files.get(fileKey(path, call.world));
  if (content === undefined || /^#!(?!.*sh\b)/.test(content)) return undefined;
  recordCommand(call, basenameOf(path), walk);
  return openShell({ ...call, words: [{ text: 'sh', template: 'sh', source: 'sh' }, ...call.words] }, 'sh', walk);
}
