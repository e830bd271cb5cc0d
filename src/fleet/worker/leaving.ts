/** Leaves a job to whichever worker holds it now: nothing is published. */
export class LostLoop extends Error {}

/** Puts a job back into the queue until an instant of this machine's clock, in epoch milliseconds. */
export class PutBack extends Error {
  readonly until: number;

  constructor(until: number, why: string) {
    super(why);
    this.until = until;
  }
}
