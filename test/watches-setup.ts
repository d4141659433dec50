/**
 * After each system test: no output contained a secret, and no gateway stood still. Output of a stopping gateway counts
 * for the next test.
 */
import { afterAll, afterEach, expect } from "vitest";
import { secretWatch } from "./secret-watch.ts";
import { stallWatch } from "./stall-watch.ts";

secretWatch.startOver();
stallWatch.startOver();

afterEach(() => {
  expect(secretWatch.leaks()).toEqual([]);
  expect(stallWatch.take(), "the event loop was busy in one piece").toEqual([]);
});

afterAll(() => {
  expect(secretWatch.leaks()).toEqual([]);
});
