/** Virus scanners, indexers and readers on Windows hold a file for a moment after it was written or removed. */
export function passesOnWindows(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return process.platform === 'win32' && (code === 'EPERM' || code === 'EBUSY' || code === 'EACCES');
}
