const OWN = String.raw`[^\s;|&]*(?:ralph-state[^\s;|&]*|\.claude/settings(?:\.local)?\.json|ralph-stop-hook\.cjs|ralph-archive[^\s;|&]*|ralph-audit\.sh)`;
const WRITES = new RegExp(
  String.raw`(?:>{1,2}\|?\s*|\b(?:rm|mv|cp|tee|touch|truncate|ln|install|chmod|chown|shred|unlink|dd|sed\s+-i\S*|perl\s+-p?i\S*|curl\s+-o|wget\s+-O|git\s+(?:checkout|restore|rm|mv))\b[^;|&\n]*?\s["']?)${OWN}`,
);
const TREES =
  /\b(?:rm\s+-\w*r\w*|mv)\s[^;|&\n]*\.claude(?:\/(?:context|skills|hooks)?\/?)?(?:\s|$)|\bgit\s+(?:clean\s+-\w*f|stash\s+-[ua])/;
const CONTROL =
  /(?:\bnode\s+|\bralph-loop\s|^)\S*(?:main\.cjs\s+)?(?:start|stop|cancel|pause|resume|accept|reset|config|init|uninit)\b/;

/**
 * What a guard of regular expressions does, written with care: the control of the tables.
 * It must miss dangerous commands and deny harmless ones, else the tables prove nothing about the parser.
 */
export function evaluateByRegularExpression(command: string): boolean {
  return WRITES.test(command) || TREES.test(command) || CONTROL.test(command);
}
