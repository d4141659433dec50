/**
 * What became of a request whose answer did not come. The node that was asked remembers its last requests; the node that
 * sent one asks for it until it knows. Messages between two nodes keep their order, so that a request that is unknown
 * when the question arrives was lost on the way and never runs.
 */
import type { Clock, Timer } from "../clock.ts";

/** `sent`: the request may have reached a device. */
export type Outcome = "sent" | "not sent";
export type KnownOutcome = Outcome | "running" | "not received";

/** How long an outcome is of use: a frozen node returns, or NATS does. */
const outcomeKeptMs = 60_000;
const maxKept = 100_000;
const askEveryMs = 1_000;

/** On the node that was asked. */
export class ReceivedRequests {
  readonly #clock: Clock;
  /** The oldest first. */
  readonly #requests = new Map<string, { readonly at: number; outcome: Outcome | "running" }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  started(id: string): void {
    const now = this.#clock.monotonic();
    this.#requests.set(id, { at: now, outcome: "running" });
    for (const [old, { at, outcome }] of this.#requests) {
      const expired = now - at > outcomeKeptMs * 2 && outcome !== "running";
      if (!expired && this.#requests.size <= maxKept) return;
      this.#requests.delete(old);
    }
  }

  ended(id: string, outcome: Outcome): void {
    const request = this.#requests.get(id);
    if (request !== undefined) request.outcome = outcome;
  }

  outcomeOf(id: string): KnownOutcome {
    return this.#requests.get(id)?.outcome ?? "not received";
  }
}

/** Asks until the outcome is known. `undefined`: no answer now. Without one in time the request may have been sent. */
export function learnOutcome(
  clock: Clock,
  ask: () => Promise<KnownOutcome | undefined>,
): { readonly settled: Promise<Outcome>; readonly settle: (outcome: Outcome) => void } {
  let settle: (outcome: Outcome) => void = () => {};
  const settled = new Promise<Outcome>((resolve) => {
    const end = clock.monotonic() + outcomeKeptMs;
    let timer: Timer | undefined;
    let done = false;
    settle = (outcome) => {
      done = true;
      timer?.cancel();
      resolve(outcome);
    };
    const next = async () => {
      const answer = await ask().catch(() => undefined);
      if (done) return;
      if (answer === "not received") settle("not sent");
      else if (answer === "sent" || answer === "not sent") settle(answer);
      else if (clock.monotonic() >= end) settle("sent");
      else timer = clock.after(askEveryMs, () => void next());
    };
    timer = clock.after(askEveryMs, () => void next());
  });
  return { settled, settle };
}

/** Of several nodes, one that has the request decides. */
export function strongestOutcome(answers: readonly KnownOutcome[]): KnownOutcome {
  const order: readonly KnownOutcome[] = ["sent", "running", "not sent"];
  return order.find((outcome) => answers.includes(outcome)) ?? "not received";
}
