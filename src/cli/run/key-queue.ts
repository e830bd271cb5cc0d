import { type Key, readKeys } from '../../term/live/input.ts';

/** The terminal's keys, one after another, and other events, for the code that waits for them. */
export class KeyQueue {
  readonly #words: string[] = [];
  #wake: (() => void) | null = null;

  /** Takes over the keyboard. Returns a function that gives it back; a second call does nothing. */
  open(): () => void {
    const { stdin, stdout } = process;
    const stop = readKeys(stdin.setEncoding('utf8'), (key) => this.push(wordOf(key)));
    const leave = (): void => this.push('escape');
    const resized = (): void => this.push('resized');
    stdin.on('end', leave);
    stdout.on('resize', resized);
    stdin.setRawMode(true);
    stdin.resume();
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      stop();
      stdin.off('end', leave);
      stdout.off('resize', resized);
      if (!stdin.destroyed) stdin.setRawMode(false);
      stdin.pause();
    };
  }

  push(word: string): void {
    this.#words.push(word);
    this.#wake?.();
  }

  async next(): Promise<string> {
    while (this.#words.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#words.shift() ?? '';
  }
}

/** Names a key by its letter, or as `enter` or `escape`, which Ctrl+C and Ctrl+D mean as well. */
function wordOf(key: Key): string {
  switch (key.kind) {
    case 'text':
      return key.text === '\n' ? 'enter' : key.text.toLowerCase();
    case 'edit':
      return key.edit === 'delete' ? 'escape' : '';
    case 'interrupt':
      return 'escape';
    default:
      return key.kind;
  }
}
