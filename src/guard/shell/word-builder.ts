import { escapeGlob } from './glob.ts';
import type { SearchedTree, ShellWord } from './shell-reading.ts';
import { UNKNOWN } from './shell-reading.ts';
import { literalOrNull } from './walk.ts';
import type { ValueWord } from './world.ts';

/** Puts words together piece by piece, and splits them where the shell does. */
export class WordBuilder {
  private readonly words: ShellWord[] = [];
  private readonly source: string;
  private template = '';
  private pattern = '';
  private open = false;
  private glob = false;
  private under: SearchedTree | undefined;
  private content: string | undefined;

  constructor(source: string) {
    this.source = source;
  }

  literal(text: string): void {
    this.template += text;
    this.pattern += escapeGlob(text);
    this.open = true;
  }

  globbed(text: string): void {
    this.template += text;
    this.pattern += text;
    this.glob = true;
    this.open = true;
  }

  unknown(under?: SearchedTree): void {
    this.template += UNKNOWN;
    this.pattern += UNKNOWN;
    this.open = true;
    this.under ??= under;
  }

  readable(content: string): void {
    this.unknown();
    this.content = content;
  }

  /** Values of a variable or of a substitution; several become several words. */
  values(values: readonly ValueWord[], quoted: boolean): void {
    values.forEach((value, index) => {
      if (index > 0) this.finishWord();
      if (quoted) this.quotedValue(value);
      else this.splitValue(value);
    });
  }

  finish(): ShellWord[] {
    this.finishWord();
    return this.words;
  }

  private quotedValue(value: ValueWord): void {
    this.under ??= value.under;
    if (value.pattern === undefined) this.literal(value.template);
    else {
      this.template += value.template;
      this.pattern += value.pattern;
      this.glob = true;
      this.open = true;
    }
  }

  private splitValue(value: ValueWord): void {
    if (value.pattern !== undefined || value.template === UNKNOWN) {
      this.quotedValue(value);
      return;
    }
    value.template.split(/[ \t\n]+/).forEach((piece, index) => {
      if (index > 0) this.finishWord();
      if (piece === '') return;
      if (piece.includes('*') || piece.includes('?') || piece.includes('[')) this.globbed(piece);
      else this.literal(piece);
      this.under ??= value.under;
    });
  }

  private finishWord(): void {
    if (!this.open) return;
    const { template, source, under, content } = this;
    this.words.push({
      text: literalOrNull(template),
      template,
      source,
      ...(this.glob ? { glob: true as const, pattern: this.pattern } : {}),
      ...(under === undefined ? {} : { under }),
      ...(content === undefined ? {} : { content }),
    });
    this.template = '';
    this.pattern = '';
    this.open = false;
    this.glob = false;
    this.under = undefined;
    this.content = undefined;
  }
}

/** A word that is known from elsewhere than the text of the command. */
export function wordOf(template: string, source = template): ShellWord {
  return { text: literalOrNull(template), template, source };
}
