import { join } from 'node:path';
import { bash, steps, text, tool } from '../tests/client/support/scripted-model.ts';

/** What the scripted model does in the quick start: work, a claim that is too early, a wait, a claim that holds. */
export function quickStartScript(project: string): ReturnType<typeof steps> {
  const file = (path: string): string => join(project, path);
  return steps([
    bash('node --test'),
    tool('Read', { file_path: file('src/slug.js') }, 'Two tests fail. First the one of slug().'),
    tool('Edit', {
      file_path: file('src/slug.js'),
      old_string: "replace(/[^a-z0-9]/g, '-')",
      new_string: "replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')",
    }),
    text('slug() joins words by one hyphen each now.\n\nRALPH_ITERATION_COMPLETE: 1 finding remains'),
    text('All tests should pass now.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS'),
    text(
      'The test of unique() still fails. What a taken slug becomes is an open question, so I wait for the answer in the task file.\n\n<!-- ralph:state idle -->',
    ),
    tool('Read', { file_path: file('src/unique.js') }, 'The answer is there: the first number that is free.'),
    tool('Edit', {
      file_path: file('src/unique.js'),
      old_string: '  return taken.has(slug) ? `${slug}-1` : slug;',
      new_string:
        '  let candidate = slug;\n  for (let number = 1; taken.has(candidate); number++) candidate = `${slug}-${number}`;\n  return candidate;',
    }),
    bash('node --test'),
    text('All tests pass.\n\nRALPH_AUDIT_COMPLETE_NO_FINDINGS'),
  ]);
}
