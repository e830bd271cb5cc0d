import { RalphError } from '../../core/ralph-error.ts';
import { ROUTER_TEXTS } from './texts.ts';

/** Signals stand at the end of a message; what comes before so many bytes of it is of no use. */
export const REPORT_LIMIT = 1024 * 1024;

/** The client hands a subagent's text on with so many spaces before each line (measured). */
const HANDED_ON = '  ';
/** With so many a line is code, however it came by them. */
const CODE = '    ';

const NOTIFICATION = '<task-notification>';
const NOTIFICATION_END = '</task-notification>';

/**
 * A subagent's final message as it wrote it, from what its host makes of it: any bytes, at most the last MiB, out of the
 * client's notification where the host passes that on whole, and without the indentation that the client gives it.
 * Throws RalphError `usage` where the notifications of several subagents are passed on as one.
 */
export function plainReport(bytes: Uint8Array): string {
  const kept = bytes.subarray(Math.max(0, bytes.length - REPORT_LIMIT));
  const text = new TextDecoder().decode(kept);
  return withoutIndent(resultIn(text.trim()) ?? text);
}

/** The result in a text that is a notification and nothing else; one that is only quoted is the agent's own text. */
function resultIn(text: string): string | null {
  if (!text.startsWith(NOTIFICATION) || !text.endsWith(NOTIFICATION_END)) return null;
  const start = text.indexOf('<result>');
  const end = text.lastIndexOf('</result>');
  if (start === -1 || end < start) return null;
  if (/<\/task-notification>\s*<task-notification>/.test(text)) {
    throw new RalphError('usage', ROUTER_TEXTS.severalReports);
  }
  return text.slice(start + '<result>'.length, end);
}

function withoutIndent(text: string): string {
  const lines = text.split('\n');
  const said = lines.filter((line) => line.trim() !== '');
  const handedOn = said.every((line) => line.startsWith(HANDED_ON)) && said.some((line) => !line.startsWith(CODE));
  return handedOn
    ? lines.map((line) => line.slice(line.startsWith(HANDED_ON) ? HANDED_ON.length : 0)).join('\n')
    : text;
}
