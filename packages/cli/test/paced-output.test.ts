import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Message } from "../src/mcp-bridge/message.ts";
import { PacedOutput } from "../src/mcp-bridge/paced-output.ts";

const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progress: 1 } } as Message;
const answer = (id: number) => ({ jsonrpc: "2.0", id, result: {} }) as Message;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("[SRV-14] writes a result at least 20 ms after progress, and later messages after it", () => {
  const written: Message[] = [];
  const output = new PacedOutput((message) => written.push(message));
  output.send(answer(1));
  output.send(progress);
  output.send(answer(2));
  output.send(progress);
  expect(written).toEqual([answer(1), progress]);
  vi.advanceTimersByTime(19);
  expect(written).toHaveLength(2);
  vi.advanceTimersByTime(1);
  expect(written).toEqual([answer(1), progress, answer(2), progress]);
});

it("writes all waiting messages when it ends", () => {
  const written: Message[] = [];
  const output = new PacedOutput((message) => written.push(message));
  output.send(progress);
  output.send(answer(1));
  output.end();
  expect(written).toEqual([progress, answer(1)]);
});
