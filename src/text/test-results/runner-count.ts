import type { Runner } from './runner.ts';
import type { FailedTest, TestSummary } from './test-summary.ts';

const MAX_FAILURES = 10;
/** Number of begun tests whose output is kept until their result is known. */
const MAX_BEGUN = 50;

type Kind = 'all' | 'passed' | 'failed' | 'skipped';

const WORDS: Readonly<Record<Kind, RegExp>> = {
  all: /^(?:tests?|examples?|specs?|runs?|doctests?|property|properties)$/i,
  passed: /^(?:pass(?:ed|ing)?|succeeded|xpassed|flaky|measured)$/i,
  failed: /^(?:fail(?:ed|ing|ures?)?|errors?|cancell?ed|interrupted|timed|exec)$/i,
  skipped: /^(?:skip(?:ped|s)?|todo|pendings?|ignored|incomplete|omissions?|excluded|xfailed)$/i,
};

type Counts = Record<Kind, number>;
type Groups = Readonly<Record<string, string | undefined>>;

/** Reads one runner's part of an output, line by line, in bounded memory. */
export class RunnerCount {
  readonly #runner: Runner;
  readonly #known: RegExp;
  /** A run has begun that has no total yet. */
  isRunning = false;
  #isSeen = false;
  #hasSign: boolean;
  #totals: TestSums | null = null;
  readonly #results = new TestSums();
  /** Results since the last line of a group. */
  #ungrouped = false;
  #namesTests = false;
  #files = 0;
  #emptyFiles = 0;
  #isNested = false;
  #isListed: boolean;
  #failures: FailedTestDraft[] = [];
  #headers = 0;
  #open: FailedTestDraft | null = null;
  readonly #begun = new Map<string, FailedTestDraft>();
  #title = '';

  /** `known` matches every line that states a count or names a test. */
  constructor(runner: Runner, known: RegExp) {
    this.#runner = runner;
    this.#known = known;
    this.#isListed = runner.list === undefined;
    this.#hasSign = runner.sign === undefined;
  }

  get isSeen(): boolean {
    return (this.#isSeen && this.#hasSign) || (this.#runner.list !== undefined && this.#headers > 0);
  }

  /** Reads a line that the table recognises as a count or as the name of a test; returns whether it does. */
  reads(text: string): boolean {
    if (!this.#known.test(text)) return false;
    const isCount = this.#count(text);
    this.isRunning = (this.isRunning && !isCount) || (this.#runner.opens?.test(text) ?? false);
    return this.#name(text) || isCount;
  }

  /** Reads any other line, which may explain the last failed test. */
  explain(text: string): void {
    const draft = this.#open;
    if (!draft?.isOpen) return;
    const { reasons } = this.#runner;
    const reason = first(reasons ?? [], text);
    if (reason === null) draft.read(text, reasons !== undefined);
    else draft.take(reason);
  }

  summary(): TestSummary {
    const { list, groups, namesAll } = this.#runner;
    const failures = this.#failures.map((each) => each.result()).filter(({ message }) => !SUITE.test(message ?? ''));
    const listed = list !== undefined && this.#totals === null ? failures.length : 0;
    const sums = this.#totals ?? this.#results;
    const unnamed = namesAll ? Math.max(0, sums.failed - this.#headers) : 0;
    const todo = Math.min(unnamed, this.#results.skipped);
    const summary: TestSummary = {
      run: Math.max(
        0,
        sums.run - todo - (this.#isNested ? 0 : this.#emptyFiles),
        listed,
        sums.run + sums.skipped === 0 ? this.#files : 0,
      ),
      failed: Math.max(listed, sums.failed - unnamed),
      skipped: sums.skipped + todo,
      failures,
    };
    const isUnknown = this.#totals === null && (listed > 0 || (groups !== undefined && !this.#namesTests));
    return isUnknown && summary.run > 0 ? { ...summary, atLeast: true } : summary;
  }

  #count(text: string): boolean {
    const { nothing = [], totals = [], results = [], groups = [], emptyFile = [], nested, sign, file } = this.#runner;
    if (sign?.test(text)) this.#hasSign = true;
    if (file?.test(text)) {
      this.#isSeen = true;
      this.#files += 1;
    }
    if (nested?.test(text)) this.#isNested = true;
    if (emptyFile.some((pattern) => pattern.test(text))) this.#emptyFiles += 1;
    const none = nothing.some((pattern) => pattern.test(text));
    if (none) this.#isSeen = this.#hasSign = true;
    const total = first(totals, text);
    if (total !== null) {
      this.#isSeen ||= total['part'] === undefined && total['partSkip'] === undefined;
      const sums = new TestSums();
      sums.add(total);
      if (this.#totals === null) this.#totals = sums;
      else if (!this.#runner.lastTotalCounts) this.#totals.add(total);
      // After a total that counts tests, a total of none belongs to another run.
      else if (sums.run > 0 || this.#totals.run === 0) this.#totals = sums;
      this.#open = null;
      return true;
    }
    const result = first(results, text);
    if (result !== null) {
      this.#isSeen = true;
      this.#ungrouped = true;
      this.#results.add(result);
    }
    const group = first(groups, text);
    if (group !== null) {
      this.#isSeen = true;
      if (!this.#ungrouped) this.#addGroup(group['failed']);
    }
    if (none || group !== null) this.#ungrouped = false;
    return none || group !== null;
  }

  #addGroup(failed: string | undefined): void {
    this.#results.run += 1;
    if (failed === undefined) return;
    this.#results.failed += 1;
    this.#failed(failed);
    this.#open = null;
  }

  /** Reads the names of failed tests, and where lists of them begin and end. */
  #name(text: string): boolean {
    const { list, failed = [], named = [], titles, begins, nameGoesOn } = this.#runner;
    if (list?.begins.test(text)) {
      this.#isListed = true;
      this.#open = null;
      return true;
    }
    if (list?.ends?.test(text)) this.#isListed = false;
    const onlyName = first(named, text);
    if (onlyName !== null) {
      this.#failed(onlyName['name'] ?? onlyName['file'] ?? '', onlyName);
      this.#open = null;
    }
    const known =
      this.#isListed && titles !== undefined ? this.#find(titles.exec(text)?.groups?.['name'] ?? '') : undefined;
    if (known !== undefined) {
      this.#open = known;
      return true;
    }
    const header = this.#isListed ? first(failed, text) : null;
    if (header !== null) this.#failed(header['name'] ?? '', header);
    else if (onlyName === null && this.#open !== null && this.#open.message === null) {
      const more = nameGoesOn?.exec(text)?.groups?.['name'];
      if (more !== undefined) {
        this.#open.goOn(more);
        return true;
      }
    }
    const beginning = begins?.exec(text) ?? null;
    if (beginning !== null) this.#begin(beginning.groups ?? {});
    return header !== null || onlyName !== null || beginning !== null;
  }

  #begin(groups: Groups): void {
    const name = groups['name'] ?? '';
    const title = groups['title'] ?? groups['title2'];
    if (title !== undefined) this.#title = title;
    if (name === '' && groups['file'] === undefined && groups['before'] === undefined) {
      this.#open = null;
      return;
    }
    this.#open = this.#begun.get(name) ?? new FailedTestDraft(name);
    this.#open.take(groups);
    if (name === '') return;
    this.#namesTests = true;
    this.#begun.set(name, this.#open);
    const oldest = this.#begun.keys().next().value;
    if (this.#begun.size > MAX_BEGUN && oldest !== undefined) this.#begun.delete(oldest);
  }

  /** Returns whether failed tests above are indented below this one: then it only names them. */
  #isParent(name: string, depth: number): boolean {
    const children = this.#failures.filter((each) => each.depth > depth);
    for (const each of children) each.belongsTo(name, depth);
    return children.length > 0;
  }

  #find(name: string, file?: string): FailedTestDraft | undefined {
    return this.#failures.find((each) => each.isNamed(name, file ?? null));
  }

  /** Without a name, it is the test that began last. */
  #failed(told: string, facts: Groups = {}): void {
    this.#headers += 1;
    const name = told === '' ? (this.#open?.name ?? '') : told;
    const depth = facts['indent']?.length;
    if (depth !== undefined && this.#isParent(name, depth)) return;
    const begun = this.#begun.get(name) ?? (this.#open?.name === '' ? this.#open : undefined);
    const last = this.#failures.at(-1);
    // A test stands for its parent, whichever is named first.
    if (this.#failures.some((each) => each.name.startsWith(`${name}/`))) return;
    if (last !== undefined && name.startsWith(`${last.name}/`)) this.#failures.pop();
    const known = this.#find(name, facts['file']);
    this.#open = known ?? new FailedTestDraft(this.#title === '' ? name : `${this.#title} > ${name}`, depth);
    if (begun !== undefined) this.#open.adopt(begun);
    this.#open.take(facts);
    if (known === undefined && this.#failures.length < MAX_FAILURES) this.#failures.push(this.#open);
  }
}

/** A suite that failed only because of its tests. */
const SUITE = /^'?\d+ subtests? failed'?$/;

/** Returns the named groups of the first pattern that matches; null if none does. */
function first(patterns: readonly RegExp[], text: string): Groups | null {
  for (const pattern of patterns) {
    const match = pattern.exec(text);
    if (match !== null) return match.groups ?? {};
  }
  return null;
}

class TestSums {
  run = 0;
  failed = 0;
  skipped = 0;

  add({ list, pairs, part, pass, fail, skip, partSkip, partFail, letters = '', ...numbers }: Groups): void {
    const counts: Counts = { all: 0, passed: 0, failed: 0, skipped: 0 };
    if (pass !== undefined) counts.passed = 1;
    if (fail !== undefined) counts.failed = 1;
    if ((skip ?? partSkip) !== undefined) counts.skipped = 1;
    for (const letter of letters) counts[letter === 's' ? 'skipped' : /[FE]/.test(letter) ? 'failed' : 'passed'] += 1;
    for (const [name, number] of Object.entries(numbers)) {
      const kind = name.replace(/\d$/, '');
      if (kind in counts) counts[kind as Kind] += Number(number ?? 0);
    }
    for (const [, amount, word = ''] of (list ?? '').matchAll(/(\d+) ([a-z]+)/gi)) count(counts, word, amount);
    for (const [, word = '', amount] of (pairs ?? part ?? '').matchAll(/((?:expected )?[a-z]+)[:=]? *(\d+)/gi))
      count(counts, word, amount);
    const hasTotal = counts.all > 0 || numbers['all'] !== undefined;
    this.failed += counts.failed + (partFail === undefined ? 0 : 1);
    this.skipped += counts.skipped;
    if ((part ?? partSkip) !== undefined) this.run -= counts.skipped;
    else this.run += hasTotal ? counts.all - counts.skipped : counts.passed + counts.failed;
  }
}

function count(counts: Counts, word: string, amount: string | undefined): void {
  const kind = (Object.keys(WORDS) as Kind[]).find((each) => WORDS[each].test(word));
  if (kind !== undefined) counts[kind] += Number(amount ?? 0);
}

/** Number of lines below a failed test's name that may say where and why it failed. */
const REACH = 60;
const MAX_TEXT = 300;

/** Lines that do not give a reason: rulers, code frames, titles, the beginning of a trace. */
const NO_REASON =
  /^(?:[-─━=⎯.·|│^~>{}\s]*$|[=>❯ ]*\d+ *[:|]|-{3,}|Error \{$|message: '|Message:$|Failure\/Error:|Stack:|Error Message:$|Stack Trace:$|Traceback |stack backtrace:|error:? [|>]-?$|duration_ms|location:|failureType:|code: |name: '|at:? |operator: |compare: |running \d+ test|test \S+ \.\.\. )/;
/** A first line that names no values; the lines below say more. */
const WEAK = /^(?:expect\(|should |assertion (?:`|failed)|Assert\.|.*:$)/;
/** Beginning of values over many lines, which are not read: the line before is the message, unless one below has both. */
const MANY_LINES = /^(?:[[{(]|\+ actual - expected.*)$/;
const VALUE = /^(expected|received|actual|got|left|right)\s*: *(?!\s|(?:[[{(]|[|>]-?)$)(.+?),?$/i;
const EXCEPTION = /^(?:Uncaught )?(?:Assertion)?Error(?: \[\w+\])?: (?=.)/;
const FOREIGN =
  /node_modules|\/lib\/python\d|node:|internal\/|site-packages|dist-packages|^\/usr\/|\/rustc\/|ext:|\/gems\/|<frozen/;

/** Failed test while its output is read: the first statement of each fact counts. */
class FailedTestDraft {
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

  /** Adopts the facts in a line of the runner's table, or in an earlier draft of the same test. */
  take({ file, line, message }: Readonly<Record<string, string | undefined>>): void {
    if (file !== undefined && this.file === null) {
      this.file = cleanPath(file);
      this.line = line === undefined ? null : Number(line);
    }
    if (message !== undefined) this.#say(message);
  }

  /** Adopts what was read before the test was known to fail. */
  adopt(begun: FailedTestDraft): void {
    if (this.file === null) [this.file, this.line] = [begun.file, begun.line];
    this.message ??= begun.message;
  }

  /** Reads a line that the table does not recognise; `hasReason`: the table recognises the runner's reasons. */
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
