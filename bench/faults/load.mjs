// Calls at a fixed rate through the balancer, to random boards: half of them plain, half repeated under an
// Idempotency-Key until they succeed.
import { randomUUID } from "node:crypto";
import http from "node:http";
import { idOf, tool } from "./boards.mjs";
import { pause, token } from "./stack.mjs";

const timeoutMs = 3_000;
const clientMs = timeoutMs + 2_000;
/** Pauses before a repeat: growing ones, or as long as the answer says. */
const again = { firstMs: 200, factor: 1.5, mostMs: 1_000 };
/** A keyed call that has not succeeded after this time never did. */
const giveUpMs = 60_000;

/** Never the same in two loads: a call of an earlier one may run late. */
let numbers = 0;

export class Load {
  plain = { total: 0, failed: 0, codes: new Map() };
  keyed = { total: 0, succeeded: 0, slowestMs: 0, never: 0, knownToHaveRun: 0, codes: new Map() };
  longestGapMs = 0;
  #lastSuccessAt = performance.now();
  #url;
  #boards;
  #count;
  /** Which call each number is. */
  #calls = new Map();
  #pending = new Set();
  #timer;
  /** The numbers of calls that were answered with success. */
  #answered = [];

  constructor(url, boards, count) {
    this.#url = new URL(url);
    this.#boards = boards;
    this.#count = count;
  }

  start(rate) {
    this.#lastSuccessAt = performance.now();
    this.#timer = setInterval(() => {
      const number = ++numbers;
      const board = idOf(Math.floor(Math.random() * this.#count));
      this.#calls.set(number, number % 2 === 0 ? "plain" : "keyed");
      const call = number % 2 === 0 ? this.#plain(board, number) : this.#keyed(board, number);
      this.#pending.add(call);
      void call.finally(() => this.#pending.delete(call));
    }, 1_000 / rate);
  }

  /** Resolves when every call has its end. */
  async stop() {
    clearInterval(this.#timer);
    this.#gapUntilNow();
    const gap = this.longestGapMs;
    await Promise.all(this.#pending);
    this.longestGapMs = gap;
  }

  /** What must never happen: a call that ran twice, or that was reported done without having run. */
  violations() {
    const { ran } = this.#boards;
    return {
      twice: [...this.#calls].filter(([number]) => (ran.get(number) ?? 0) > 1).length,
      notRun: this.#answered.filter((number) => !ran.has(number)).length,
    };
  }

  async #plain(board, number) {
    this.plain.total += 1;
    const outcome = await this.#ask(board, number);
    if (outcome.ok) this.#succeeded(number);
    else {
      this.plain.failed += 1;
      count(this.plain.codes, outcome.code);
    }
  }

  async #keyed(board, number) {
    this.keyed.total += 1;
    const key = randomUUID();
    const started = performance.now();
    for (let pauseMs = again.firstMs; ; pauseMs = Math.min(pauseMs * again.factor, again.mostMs)) {
      const outcome = await this.#ask(board, number, key);
      const tookMs = performance.now() - started;
      if (outcome.ok) {
        this.keyed.succeeded += 1;
        this.keyed.slowestMs = Math.max(this.keyed.slowestMs, tookMs);
        this.#succeeded(number);
        return;
      }
      count(this.keyed.codes, outcome.code);
      if (outcome.retryable && tookMs < giveUpMs) {
        await pause(outcome.retryAfterMs ?? pauseMs);
        continue;
      }
      this.keyed.never += 1;
      if (this.#boards.ran.has(number)) this.keyed.knownToHaveRun += 1;
      count(this.keyed.codes, `never: ${outcome.code}`);
      return;
    }
  }

  #succeeded(number) {
    this.#answered.push(number);
    this.#gapUntilNow();
    this.#lastSuccessAt = performance.now();
  }

  #gapUntilNow() {
    this.longestGapMs = Math.max(this.longestGapMs, performance.now() - this.#lastSuccessAt);
  }

  #ask(board, number, key) {
    const body = JSON.stringify({ arguments: { number }, timeoutMs });
    return new Promise((resolve) => {
      const request = http.request({
        hostname: this.#url.hostname,
        port: this.#url.port,
        method: "POST",
        path: `/api/v1/devices/${board}/tools/${tool}/call`,
        agent: false,
        timeout: clientMs,
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          ...(key === undefined ? {} : { "idempotency-key": key }),
        },
      });
      const deadline = setTimeout(() => request.destroy(new Error("client timeout")), clientMs);
      request.once("error", (error) => {
        clearTimeout(deadline);
        resolve({ ok: false, retryable: true, code: error.message });
      });
      request.once("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (more) => {
          text += more;
        });
        response.once("close", () => {
          clearTimeout(deadline);
          resolve(read(response.statusCode, text));
        });
      });
      request.end(body);
    });
  }
}

function read(status, text) {
  if (status === 200) return { ok: true };
  try {
    const { code, retryable, retryAfterMs, sent } = JSON.parse(text);
    const shown = sent === true ? `${code}, sent` : code;
    return { ok: false, retryable: retryable === true, retryAfterMs, code: shown };
  } catch {
    return { ok: false, retryable: true, code: `status ${status}` };
  }
}

function count(codes, code) {
  codes.set(code, (codes.get(code) ?? 0) + 1);
}
