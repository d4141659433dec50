/**
 * At most so many pieces of work in one turn of the event loop; the others wait for the next turns, in order. It counts
 * pieces and not time, because most of the time passes in what a piece sets off later in the turn.
 */
export class TurnQuota {
  readonly #most: number;
  readonly #atEnd = () => this.#endTurn();
  #left: number;
  #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#most = most;
    this.#left = most;
  }

  run(work: () => void): void {
    if (this.#left === 0) {
      this.#waiting.push(work);
      return;
    }
    if (this.#left === this.#most) setImmediate(this.#atEnd);
    this.#left -= 1;
    work();
  }

  #endTurn(): void {
    this.#left = this.#most;
    for (const work of this.#waiting.splice(0, this.#most)) this.run(work);
  }
}
