// What callers and devices saw of each call, and the rules that must hold between the two. A call carries a number in
// its arguments; callers, devices and the history of the gateway all name it.

/** A reply may take this much longer than its deadline on a busy machine. */
const slackMs = 6_000;
/** Codes that faults of devices, callers and the gateway's process explain. Any other code is a violation. */
const expectedCodes = new Set([
  "device_offline",
  "device_disconnected",
  "device_timeout",
  "device_error",
  "queue_full",
  // A device that has not been listed yet.
  "tool_unknown",
  "device_unknown",
  "shutting_down",
]);
/** A killed gateway may lose the last 100 ms of its history (docs/operations/operate.md); a busy machine writes later. */
const lostByKillMs = 3_000;
const violationsKept = 20;

export class Records {
  calls = 0;
  /** Milliseconds from a lost connection to the error that its caller got. */
  lossMs = [];
  /** How long the machine was too busy to run this process or the gateway, in sum: a call may take that much longer. */
  lateMs = 0;
  outcomes = new Map();
  violations = [];
  violationCount = 0;
  /** Called with the text of each violation. */
  onViolation = () => {};
  #calls = new Map();
  /** The numbers of calls that are still to be checked. */
  #unsettled = new Set();
  #next = 1;
  #killedAt = [];

  violation(text) {
    this.violationCount += 1;
    if (this.violations.length < violationsKept) this.violations.push(text);
    this.onViolation(text);
  }

  /** A new call; its number goes into the arguments. */
  begin(device, act, deadlineMs) {
    const number = this.#next;
    this.#next += 1;
    this.calls += 1;
    this.#unsettled.add(number);
    this.#calls.set(number, {
      device,
      act,
      deadlineMs,
      from: performance.now(),
      lateMs: this.lateMs,
      ran: 0,
      end: undefined,
      callId: undefined,
      row: undefined,
    });
    return number;
  }

  /** The caller sends it twice with one Idempotency-Key; a first try that was not sent leaves a row of its own. */
  repeated(number) {
    this.#calls.get(number).repeated = true;
  }

  /** The device runs it. */
  ran(number, device) {
    const call = this.#calls.get(number);
    if (call === undefined) {
      this.violation(`${device} ran call ${number}, which no caller made`);
      return;
    }
    call.ran += 1;
    if (call.device !== device) this.violation(`call ${number} to ${call.device} ran on ${device}`);
    if (call.sent === false && !this.#unsettled.has(number))
      this.violation(`call ${number} ended with ${call.end}, "not sent", and ran`);
    if (call.ran > 1) this.violation(`call ${number} ran ${call.ran} times on ${device}`);
  }

  /** The device drops its connection instead of answering. */
  dropped(number) {
    this.#calls.get(number).droppedAt = performance.now();
  }

  /**
   * The caller has its answer: `ok`, `tool_error`, an error code, `hung up` (it left), or `no gateway` (the connection
   * broke). `sent` is what an error says about it.
   */
  ended(number, outcome, { callId, sent, via } = {}) {
    const call = this.#calls.get(number);
    const took = performance.now() - call.from;
    const busyMs = this.lateMs - call.lateMs;
    if (call.end !== undefined) this.violation(`call ${number} was answered twice`);
    call.end = outcome;
    // A call that its caller left may go on until its deadline.
    call.endedAt = Date.now() + (outcome === "hung up" ? call.deadlineMs + slackMs : 0);
    call.callId = callId;
    call.sent = sent;
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    const own = ["ok", "tool_error", "hung up", "no gateway"];
    if (!own.includes(outcome) && !expectedCodes.has(outcome))
      this.violation(`call ${number} (${call.act}) to ${call.device} ended with ${outcome}`);
    if (outcome === "device_disconnected" && call.droppedAt !== undefined)
      this.lossMs.push(performance.now() - call.droppedAt);
    if (took > call.deadlineMs + slackMs + busyMs)
      this.violation(
        `call ${number} (${call.act}) to ${call.device} over ${via} ended with ${outcome} after ${Math.round(took)} ms; ` +
          `its deadline was ${call.deadlineMs} ms, and the machine was busy for ${Math.round(busyMs)} ms`,
      );
  }

  killed() {
    this.#killedAt.push(Date.now());
  }

  /** A row of the gateway's history. */
  row({ callId, outcome, device, arguments: args }) {
    const call = this.#calls.get(args?.number);
    if (call === undefined || call.row?.callId === callId) return;
    if (call.row !== undefined && !call.repeated)
      this.violation(`call ${args.number} is twice in the history`);
    // Of a repeated call, the row of the try that reached the device.
    if (call.row === undefined || outcome === "ok") call.row = { callId, outcome, device };
  }

  /** Checks every call that ended before `until`. */
  settle(until = Number.POSITIVE_INFINITY) {
    for (const number of this.#unsettled) {
      const call = this.#calls.get(number);
      const { end, endedAt, ran, row, sent, callId, device, act } = call;
      if (end === undefined || endedAt > until) continue;
      this.#unsettled.delete(number);
      const named = `call ${number} (${act}) to ${device}`;
      if (end === "ok" && ran !== 1) this.violation(`${named} was acknowledged and ran ${ran} times`);
      if (sent === false && ran !== 0) this.violation(`${named} ended with ${end}, "not sent", and ran`);
      const mayBeLost = this.#killedAt.some(
        (at) => endedAt > at - lostByKillMs && call.from - performance.now() + Date.now() < at,
      );
      if (mayBeLost) continue;
      if ((callId !== undefined || ran > 0) && row === undefined)
        this.violation(`${named} ended with ${end} and is not in the history`);
      if (row !== undefined && callId !== undefined && row.callId !== callId)
        this.violation(`${named} has another id in the history`);
      if (row !== undefined && callId !== undefined && row.outcome !== end)
        this.violation(`${named} ended with ${end}, and with ${row.outcome} in the history`);
    }
  }

  /** Calls without an answer, at the end of a run. */
  unanswered() {
    for (const number of this.#unsettled) {
      const { end, device, act } = this.#calls.get(number);
      if (end === undefined) this.violation(`call ${number} (${act}) to ${device} was never answered`);
    }
  }
}
