import { type AssembledPrompt, wholePrompt } from './assemble-prompt.ts';
import { type DeliveredPrompt, deliverPrompt, sectionsOf } from './deliver-prompt.ts';
import type { Policy } from './schema/policy.ts';

/** The client, and where the whole assembled prompt lies by now. */
export interface TaskReceiver {
  readonly takesContext: boolean;
  /** Relative to the project; null where it could not be written, and then nobody is sent there. */
  readonly promptPath: string | null;
}

/**
 * The same for a task folder, whose prompt is more than its RALPH.md: the evidence of an iteration stands in the
 * assembled prompt alone, so a pointer names the file that holds all of that. Without such a file a prompt that is too
 * long for the context goes into the reason.
 */
export function deliverTaskPrompt(
  prompt: AssembledPrompt,
  reinject: Policy['reinject'],
  { takesContext, promptPath }: TaskReceiver,
): DeliveredPrompt {
  const pointer = (): string => {
    const whole = wholePrompt(prompt);
    return promptPath === null ? whole : pointerText(prompt.preface, promptPath, whole);
  };
  return deliverPrompt(prompt, reinject, { takesContext, pointer });
}

/** Names the iteration, so that two pointers are not the same message, and repeats nothing else of the file. */
function pointerText(preface: string, path: string, whole: string): string {
  const [header = ''] = preface.split('\n');
  return `${header}\n\nRead ${path} now, whole (${whole.length} characters), and work by it: it holds the prompt of this iteration, with the task, the output of its commands and how to end your message.${sectionsOf(whole)}\n`;
}
