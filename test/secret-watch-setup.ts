/** After each system test: no output contained a secret. Output of a stopping gateway counts for the next test. */
import { afterAll, afterEach, expect } from "vitest";
import { secretWatch } from "./secret-watch.ts";

secretWatch.startOver();

afterEach(() => {
  expect(secretWatch.leaks()).toEqual([]);
});

afterAll(() => {
  expect(secretWatch.leaks()).toEqual([]);
});
