/** Signals stand at the end of a message; what comes before so many bytes of it is of no use. */
export const REPORT_LIMIT = 1024 * 1024;

/** The client hands a subagent's text on with so many spaces before each line (measured). */
const HANDED_ON = '  ';

/**
 * A subagent's final message as it wrote it, from what its host makes of it: any bytes, at most the last MiB, out of the
 * client's notification where the host passes that on whole, and without the indentation that the client gives it.
 */
export function plainReport(bytes: Uint8Array): string {
  const kept = bytes.subarray(Math.max(0, bytes.length - REPORT_LIMIT));
  const text = new TextDecoder().decode(kept);
  const [, inner] = /<task-notification>[\s\S]*?<result>([\s\S]*)<\/result>/.exec(text) ?? [];
  return withoutIndent(inner ?? text);
}

function withoutIndent(text: string): string {
  const lines = text.split('\n');
  const handedOn = lines.every((line) => line.trim() === '' || line.startsWith(HANDED_ON));
  return handedOn
    ? lines.map((line) => line.slice(line.startsWith(HANDED_ON) ? HANDED_ON.length : 0)).join('\n')
    : text;
}
