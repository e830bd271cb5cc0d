const COMMANDS = [
  /git\s+push/,
  /npm\s+publish/,
  /kubectl\s+delete/,
  /rm\s+-\w*r\w*\s+\/srv/,
  /(?:curl|wget)[^|]*\|\s*(?:sudo\s+)?(?:sh|bash|zsh)/,
];
const SECRET = String.raw`[^\s;|&]*(?:\.env|\.pem|\.key\b|\.npmrc|\.netrc|\.ssh/|\.aws/|secrets/)`;
const WRITES = new RegExp(
  String.raw`(?:>{1,2}\|?\s*|\b(?:tee|cp|mv|rm|ln|dd|sed\s+-i|perl\s+-p?i|truncate|touch|chmod|chown|shred|curl\s+-o|wget\s+-O|git\s+(?:checkout|restore|rm|mv|clean|stash))\b[^;|&\n]*?["']?)(?:${SECRET}|[^\s;|&]*deploy/prod\.yaml)`,
);
const READS = new RegExp(
  String.raw`(?:<\s*|\b(?:cat|head|tail|less|more|grep|rg|sed|awk|sort|base64|xxd|source|cp|mv|scp|tar|zip|curl|git\s+(?:show|diff|log))\b[^;|&\n]*?["'@=]?)${SECRET}`,
);

/**
 * What guardrails of regular expressions do that see the whole text alone, written with care: the control of the corpus.
 * They must miss much of it and deny some of what is harmless, else it proves nothing about the parser.
 */
export const byRegularExpression = {
  blocks: (command: string): boolean => COMMANDS.some((pattern) => pattern.test(command)),
  guards: (command: string): boolean => WRITES.test(command) || READS.test(command),
};
