/** After each test of the system: nothing that was shown had a secret in it. What a gateway says as it stops counts for the next one. */
import { afterAll, afterEach, expect } from "vitest";
import { secretWatch } from "./secret-watch.ts";

secretWatch.startOver();

afterEach(() => {
  expect(secretWatch.leaks()).toEqual([]);
});

afterAll(() => {
  expect(secretWatch.leaks()).toEqual([]);
});
