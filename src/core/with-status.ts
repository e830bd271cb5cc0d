/** A message of an end as a line shows it: behind its status, unless it begins with that itself, as most do. */
export function withStatus(status: string, message: string): string {
  return message.startsWith(status) ? message : `${status}: ${message}`;
}
