import type { Clock } from "../clock.ts";
import type { BufferSettings } from "./buffer-settings.ts";
import type { OnProblem } from "./health.ts";
import { WriteBuffer } from "./write-buffer.ts";

type AnyBuffer = Pick<WriteBuffer<unknown>, "size" | "lost" | "flush" | "close" | "abandon">;

/** All write buffers of a store. */
export class Buffers {
  readonly #clock: Clock;
  readonly #onProblem: OnProblem;
  readonly #all: AnyBuffer[] = [];

  constructor(clock: Clock, onProblem: OnProblem) {
    this.#clock = clock;
    this.#onProblem = onProblem;
  }

  get waitingRows(): number {
    return this.#all.reduce((sum, { size }) => sum + size, 0);
  }

  get lostRows(): number {
    return this.#all.reduce((sum, { lost }) => sum + lost, 0);
  }

  make<Row>(settings: Omit<BufferSettings<Row>, "clock" | "onProblem">): WriteBuffer<Row> {
    const buffer = new WriteBuffer<Row>({ ...settings, clock: this.#clock, onProblem: this.#onProblem });
    this.#all.push(buffer);
    return buffer;
  }

  async flush(): Promise<void> {
    await Promise.all(this.#all.map((buffer) => buffer.flush()));
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((buffer) => buffer.close()));
  }

  abandon(): void {
    for (const buffer of this.#all) buffer.abandon();
  }
}
