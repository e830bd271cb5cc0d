import { basenameOf } from '../program-words.ts';
import type { ShellCommand, ShellWord } from '../shell-reading.ts';

/** Pattern for text before a file that a program writes: `-o F`, `--out-dir F`, `--js_out=F`, `-Wl,-Map=F`. */
const OUTPUT =
  /^(?:-o|-{1,2}[DP]?(?:[a-z]+[-_])*(?:out(?:put|file|dir)?|dest(?:ination|dir)?|(?:save|write|dump)(?:[-_]?(?:to|as))?|append|cidfile|basetemp|Map)(?:[-_]?(?:file|dir|path|folder))?|-{1,2}\w+profile|-{1,2}(?:log|result|report)[-_]?(?:file|dir|to))$/i;
/** Parts of which every such word but `-o` contains one. Compiling OUTPUT takes as long as all other checks of a command. */
const OUTPUT_PARTS = 'out dest save write dump append cidfile basetemp map profile log result report'.split(' ');
/** Pattern for the same before a mark in a word: `of=F`, `CREATE:F`. */
const OUTPUT_KEY = /^(?:of|out|output|create|open)$/i;
/** Pattern for options that make any program change its operands in place. */
const IN_PLACE = /^--?(?:fix|write|in-?place|overwrite\w*|auto-?fix|auto-?correct|remove-source\w*)(?:=|$)/;
/** Every such option contains one of these. */
const IN_PLACE_PARTS = ['fix', 'write', 'place', 'correct', 'remove-source'];
/** Programs or subcommands that do so by default; further ones do with `-i` or `-w`. */
const FORMATS = new Set(
  'fix fmt isort stylua pyupgrade swiftformat mdformat nixfmt uncrustify astyle mogrify optipng jpegoptim upx srm wipe savelog'.split(
    ' ',
  ),
);
const FORMATS_IF_TOLD = ['format', 'fmt', 'imports', 'pep8'];
const FORMATTERS = new Set(['gofumpt', 'yapf', '2to3', 'sops', 'codemod']);
const ONLY_LOOKS =
  /^-{1,2}(?:c|d|l|n|check\w*|dry-?run|diff|list\w*|verify[\w-]*|stdout|lint|test|version|help)(?:-only)?(?:=|$)/;

/**
 * Returns a test for whether an unknown program may write to the file that a word names: as its output, or because it changes
 * operands in place. Most programs only read their operands, and any other write is reverted afterwards.
 */
export function mayWrite({ name, argv }: ShellCommand): (word: ShellWord) => boolean {
  const texts = argv.map(({ template }) => template);
  const subcommand = texts.slice(1).find((text) => !text.startsWith('-')) ?? '';
  const options = texts.filter((text) => text.startsWith('-') && text !== '--');
  const isTold = options.some((text) => text === '-i' || text === '-w');
  const formatsIfTold = [name, subcommand].some(
    (each) => FORMATTERS.has(each) || FORMATS_IF_TOLD.some((end) => each.endsWith(end)),
  );
  const inPlace =
    (options.some((text) => IN_PLACE_PARTS.some((part) => text.includes(part)) && IN_PLACE.test(text)) ||
      (isTold && formatsIfTold) ||
      FORMATS.has(name) ||
      FORMATS.has(subcommand)) &&
    !options.some((text) => ONLY_LOOKS.test(text));
  return (word) => {
    if (inPlace) return true;
    const at = argv.indexOf(word);
    const option = at > 1 ? (texts[at - 1] ?? '') : '';
    const { template } = word;
    const isPair = template.includes('=') || template.includes(':');
    const key = (isPair && /^(?:.*[,\s])?([^,\s]+)[=:]/s.exec(template)?.[1]) || '';
    if (isOutput(option) || isOutput(key) || (key !== '' && OUTPUT_KEY.test(key))) return true;
    return template.startsWith('-o') && /^-o[^=]/.test(template);
  };
}

function isOutput(option: string): boolean {
  if (!option.startsWith('-')) return false;
  const small = option.toLowerCase();
  return small === '-o' || (OUTPUT_PARTS.some((part) => small.includes(part)) && OUTPUT.test(option));
}

const WRITERS = new Set(
  'rm mv cp dd tee ln truncate touch shred unlink rmdir sed chmod chown rsync gzip pigz xz zstd'.split(' '),
);
/** Programs that run commands on another machine. */
export const ELSEWHERE = /^(?:ssh|mosh|adb|heroku|fly)$/;

/** Returns the words of a command that an unknown program runs: `retry 3 rm F`; null if there is none. */
export function wrappedWriter({ name, argv }: ShellCommand): readonly ShellWord[] | null {
  const at = argv.findIndex(({ template }, index) => index > 0 && WRITERS.has(basenameOf(template)));
  return at === -1 || ELSEWHERE.test(name) ? null : argv.slice(at);
}
