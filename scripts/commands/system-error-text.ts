const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not',
  EPERM: 'this user may not',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of this user is used up',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  EIO: 'the disk fails',
  ENOTDIR: 'a file lies where a folder should',
  ENAMETOOLONG: 'the name is too long',
};

/** In the way of a folder that was to be made. */
const IN_THE_WAY = ['EEXIST', 'ENOENT', 'ELOOP'];

/**
 * What a call of the system that failed means for whoever gave the command, or null for an error that is no fault of
 * the machine's: then it is ours.
 */
export function systemErrorText(error: unknown): string | null {
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  const inTheWay = syscall === 'mkdir' && code !== undefined && IN_THE_WAY.includes(code);
  const known = code !== undefined && Object.hasOwn(REASONS, code) ? REASONS[code] : undefined;
  const reason = inTheWay ? 'a file, or a link that leads nowhere, lies where a folder should' : known;
  if (reason === undefined || syscall === undefined) return null;
  return `${path ?? 'a file'} cannot be used: ${reason} (${code}, ${syscall}). Mend that and give the command again; nothing of a loop is lost.`;
}
