import type { FailedTest } from './test-summary.ts';

/** Number of lines below a failed test's name that may tell where and why. */
const REACH = 60;
const MAX_TEXT = 300;

/** Lines that are no reason: rulers, code frames, titles, the beginning of a trace. */
const NO_REASON =
  /^(?:[-─━=⎯.·|│^~>{}\s]*$|[=>❯ ]*\d+ *[:|]|-{3,}|Error \{$|message: '|Message:$|Failure\/Error:|Stack:|Error Message:$|Stack Trace:$|Traceback |stack backtrace:|error:? [|>]-?$|duration_ms|location:|failureType:|code: |name: '|at:? |operator: |compare: |running \d+ test|test \S+ \.\.\. )/;
/** A first line that names no values; the lines below say more. */
const WEAK = /^(?:expect\(|should |assertion (?:`|failed)|Assert\.|.*:$)/;
/** Begins values over many lines, which are not read: what announces them is the message, unless a line below has both values. */
const MANY_LINES = /^(?:[[{(]|\+ actual - expected.*)$/;
const VALUE = /^(expected|received|actual|got|left|right)\s*: *(?!\s|(?:[[{(]|[|>]-?)$)(.+?),?$/i;
const EXCEPTION = /^(?:Uncaught )?(?:Assertion)?Error(?: \[\w+\])?: (?=.)/;
const FOREIGN =
  /node_modules|\/lib\/python\d|node:|internal\/|site-packages|dist-packages|^\/usr\/|\/rustc\/|ext:|\/gems\/|<frozen/;

/** Failed test while its output is read: the first statement of a fact counts. */
export class FailedTestDraft {
  name: string;
  file: string | null = null;
  line: number | null = null;
  message: string | null = null;
  depth: number;
  #isWeak = true;
  #left = REACH;

  constructor(name: string, depth = 0) {
    this.name = name.slice(0, MAX_TEXT);
    this.depth = depth;
  }

  isNamed(name: string, file: string | null): boolean {
    return plain(this.name) === plain(name.slice(0, MAX_TEXT)) && (file === null || this.#isIn(file));
  }

  #isIn(file: string): boolean {
    return this.file === null || this.file.endsWith(file) || file.endsWith(this.file);
  }

  goOn(more: string): void {
    this.name = `${this.name} > ${more}`.slice(0, MAX_TEXT);
  }

  /** Takes the name of the suite or file that this test is part of. */
  belongsTo(parent: string, depth: number): void {
    this.depth = depth;
    if (SOURCE_FILE.test(parent)) this.take({ file: parent });
    else this.name = `${parent} > ${this.name}`.slice(0, MAX_TEXT);
  }

  get isOpen(): boolean {
    return this.#left > 0;
  }

  /** Takes what a line of the runner's table, or an earlier draft of the same test, tells. */
  take({ file, line, message }: Readonly<Record<string, string | undefined>>): void {
    if (file !== undefined && this.file === null) {
      this.file = cleanPath(file);
      this.line = line === undefined ? null : Number(line);
    }
    if (message !== undefined) this.#say(message);
  }

  /** Takes over what was read before the test was known to fail. */
  adopt(begun: FailedTestDraft): void {
    if (this.file === null) [this.file, this.line] = [begun.file, begun.line];
    this.message ??= begun.message;
  }

  /** Reads a line that the table does not know; `hasReason`: the table knows the runner's reasons. */
  read(text: string, hasReason: boolean): void {
    this.#left -= 1;
    if (this.line === null) {
      const found = locationIn(text);
      if (found !== null && this.#isIn(found[0])) [this.file, this.line] = [this.file ?? found[0], found[1]];
    }
    const said = text.replace(/^(?:[\s│#]|\[\w+\] +)+/, '');
    const [, what, value] = VALUE.exec(said) ?? [];
    if (what !== undefined && value !== undefined && this.#isWeak) {
      const values = this.message !== null && VALUE.test(this.message) ? `${this.message}, ` : '';
      this.message = `${values}${what}: ${value}`.slice(0, MAX_TEXT);
      this.#isWeak = values === '';
    } else if (!hasReason || (this.message?.endsWith(':') ?? false)) this.#say(said);
  }

  #say(text: string): void {
    const said = text.trim().replace(EXCEPTION, '');
    if (BLOCK.test(said) && this.message === null) this.message = ':';
    if (said === '' || NO_REASON.test(said) || LOCATION_ONLY.test(said)) return;
    if (this.message !== null && !this.message.endsWith(':')) return;
    if (MANY_LINES.test(said) && this.message !== null && this.message !== ':') {
      this.message = this.message.slice(0, -1);
      return;
    }
    this.message = said.slice(0, MAX_TEXT);
    this.#isWeak = WEAK.test(said);
  }

  result(): FailedTest {
    const message = this.message === ':' ? null : this.message;
    return { name: this.name, file: this.file, line: this.line, message };
  }
}

const LOCATION_ONLY = /^(?:[❯›] |\(?at )?\S+\.\w+:\d+(?::\d+)?\)?:?(?:in .*)?$/;
const SOURCE_FILE = /^\S+\.[cm]?[jt]sx?$/;
/** Announces a text on the lines below (YAML). */
const BLOCK = /^[|>]-?$/;

/** Finds `path:line` in a line; null if there is none, or only in code that is not the project's. */
function locationIn(text: string): [file: string, line: number] | null {
  const line = text.replace(/"?(?::|,) ?line (\d)/, ':$1');
  for (const word of line.split(/[\s()[\]"'`<>|]+/)) {
    const match = /^(.*\.[A-Za-z]\w{0,6}):(\d{1,7})(?:$|[:,.])/.exec(word);
    if (match === null) continue;
    const [, file = '', number] = match;
    return FOREIGN.test(file) ? null : [cleanPath(file), Number(number)];
  }
  return null;
}

/** pytest separates the parts of a name in two ways. */
function plain(name: string): string {
  return name.replaceAll('::', '.');
}

function cleanPath(path: string): string {
  return path.replace(/^file:\/\/(?=\/)/, '').slice(0, MAX_TEXT);
}
