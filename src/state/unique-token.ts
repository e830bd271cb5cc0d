let serial = 0;

/** The form of a token; its first part is the process id in base 36. */
export const UNIQUE_TOKEN = /^([0-9a-z]+)-[0-9a-z]+-[0-9a-z]{9,}$/;

/**
 * A name that no other process and no other call uses: process id, its clock in nanoseconds, a serial number and
 * randomness. Unique, not secret: node:crypto would cost a hook 2.5 ms.
 */
export function uniqueToken(): string {
  serial += 1;
  const clock = process.hrtime.bigint().toString(36);
  const random = Math.floor(Math.random() * 36 ** 8).toString(36);
  return `${process.pid.toString(36)}-${clock}-${serial.toString(36)}${random.padStart(8, '0')}`;
}
