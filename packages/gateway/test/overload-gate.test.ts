/** When requests are refused, by the times of the event loop. Real overload: test/overload.test.ts. */
import { expect, it } from "vitest";
import { type LoopTimes, OverloadGate } from "../src/agent/http/overload-gate.ts";

/** A loop whose time passes only as the test says. */
class Loop implements LoopTimes {
  readonly gate = new OverloadGate(this);
  #now = 0;
  #idle = 0;
  #stolen = 0;
  #end: () => void = () => {};

  now(): number {
    return this.#now;
  }

  idle(): number {
    return this.#idle;
  }

  cpu(): number {
    return this.#now - this.#idle - this.#stolen;
  }

  atTurnEnd(run: () => void): void {
    this.#end = run;
  }

  /** Serves requests that take a millisecond each, or a tenth if refused. Returns how many were refused. */
  turn(requests: number, waitMs = 0): number {
    let refused = 0;
    for (let request = 0; request < requests; request += 1) {
      this.#wait(waitMs);
      const isAdmitted = this.gate.admits();
      if (!isAdmitted) refused += 1;
      this.#now += isAdmitted ? 1 : 0.1;
    }
    this.#end();
    return refused;
  }

  /** Other processes have the machine. */
  #wait(ms: number): void {
    this.#now += ms;
    this.#stolen += ms;
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
  expect(loop.turn(80)).toBe(0);
  expect(loop.turn(80)).toBeGreaterThan(0);
  expect(loop.turn(80)).toBeGreaterThan(30);
});

it("still serves requests in a turn that does not end", () => {
  const loop = new Loop();
  const refused = loop.turn(20_000);
  expect(refused).toBeGreaterThan(10_000);
  expect(20_000 - refused).toBeGreaterThan(500);
});

it("goes on refusing after a turn with few requests, until the loop rests", () => {
  const loop = new Loop();
  loop.turn(1_000);
  expect(loop.turn(100)).toBeGreaterThan(0);
  expect(loop.turn(5)).toBe(0);
  expect(loop.turn(100)).toBeGreaterThan(0);
  loop.rest(10);
  expect(loop.turn(100)).toBe(0);
});

it("serves bursts with a rest between them", () => {
  const loop = new Loop();
  for (let burst = 0; burst < 10; burst += 1) {
    expect(loop.turn(140)).toBe(0);
    loop.rest(20);
  }
});

it("does not count the time of other processes, nor a long turn with few requests", () => {
  const loop = new Loop();
  for (let turn = 0; turn < 20; turn += 1) expect(loop.turn(35, 100)).toBe(0);
  for (let turn = 0; turn < 20; turn += 1) expect(loop.turn(30, 5)).toBe(0);
});
