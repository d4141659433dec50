/** When requests are refused, by the times of the event loop. Real overload: test/overload.test.ts. */
import { expect, it } from "vitest";
import { type LoopTimes, OverloadGate } from "../src/agent/http/overload-gate.ts";

/** A loop whose time passes only as the test says. */
class Loop implements LoopTimes {
  readonly gate = new OverloadGate(this);
  #now = 0;
  #idle = 0;
  #end: () => void = () => {};

  now(): number {
    return this.#now;
  }

  idle(): number {
    return this.#idle;
  }

  atTurnEnd(run: () => void): void {
    this.#end = run;
  }

  /** Serves requests that take a millisecond each, or a tenth if refused. Returns how many were refused. */
  turn(requests: number): number {
    let refused = 0;
    for (let request = 0; request < requests; request += 1) {
      const isAdmitted = this.gate.admits();
      if (!isAdmitted) refused += 1;
      this.#now += isAdmitted ? 1 : 0.1;
    }
    this.#end();
    return refused;
  }

  rest(ms: number): void {
    this.#now += ms;
    this.#idle += ms;
  }
}

it("serves a burst, however many requests it has", () => {
  const loop = new Loop();
  expect(loop.turn(140)).toBe(0);
});

it("serves any number of requests in short turns", () => {
  const loop = new Loop();
  for (let turn = 0; turn < 100; turn += 1) expect(loop.turn(35)).toBe(0);
});

it("refuses what a turn cannot serve, once turns have been long for longer than a burst", () => {
  const loop = new Loop();
  for (let turn = 0; turn < 2; turn += 1) expect(loop.turn(60)).toBe(0);
  expect(loop.turn(60)).toBeGreaterThan(0);
  expect(loop.turn(60)).toBe(50);
});

it("still serves requests in a turn that does not end", () => {
  const loop = new Loop();
  const refused = loop.turn(20_000);
  expect(refused).toBeGreaterThan(10_000);
  expect(20_000 - refused).toBeGreaterThan(500);
});

it("serves everybody again after a turn without refusals", () => {
  const loop = new Loop();
  loop.turn(1_000);
  expect(loop.turn(100)).toBeGreaterThan(0);
  expect(loop.turn(5)).toBe(0);
  expect(loop.turn(100)).toBe(0);
});

it("serves bursts with a rest between them", () => {
  const loop = new Loop();
  for (let burst = 0; burst < 10; burst += 1) {
    expect(loop.turn(140)).toBe(0);
    loop.rest(20);
  }
});
