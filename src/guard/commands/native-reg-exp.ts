import { toNativePattern } from '../../core/re2-pattern.ts';

/** A pattern in RE2 syntax as a RegExp that finds it anywhere, or, with `whole`, matches whole texts only. */
export function nativeRegExp(pattern: string, whole = false): RegExp {
  const { source, flags } = toNativePattern(pattern);
  return new RegExp(whole ? `^(?:${source})$` : source, flags);
}
