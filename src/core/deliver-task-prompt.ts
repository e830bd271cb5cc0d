import { type AssembledPrompt, wholePrompt } from './assemble-prompt.ts';
import { type DeliveredPrompt, deliverPrompt, sectionsOf } from './deliver-prompt.ts';
import type { Policy } from './schema/policy.ts';

export interface DeliveredTaskPrompt extends DeliveredPrompt {
  /** What the file at `promptPath` must hold before the answer goes out, or null where nobody is sent there. */
  readonly file: string | null;
}

/**
 * The same for a task folder, whose prompt is more than its RALPH.md: the evidence of this iteration stands in the
 * assembled prompt alone. One that is too long for every other way goes into a file of its own, and the pointer names
 * that. `promptPath` is where, relative to the project.
 */
export function deliverTaskPrompt(
  prompt: AssembledPrompt,
  reinject: Policy['reinject'],
  client: { readonly takesContext: boolean; readonly promptPath: string },
): DeliveredTaskPrompt {
  const { takesContext, promptPath } = client;
  let file: string | null = null;
  const pointer = (): string => {
    file = wholePrompt(prompt);
    return pointerText(prompt, promptPath, file);
  };
  const delivered = deliverPrompt(prompt, reinject, { takesContext, taskPath: promptPath, pointer });
  return { ...delivered, file };
}

/** Names the iteration, so that two pointers are not the same message, and repeats nothing of the file. */
function pointerText({ preface }: AssembledPrompt, path: string, whole: string): string {
  const [header = ''] = preface.split('\n');
  return `${header}\n\nRead ${path} now, whole (${whole.length} characters), and work by it: it holds the prompt of this iteration, with the task, the output of its commands and how to end your message.${sectionsOf(whole)}\n`;
}
