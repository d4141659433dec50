import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { TurnQuota } from "../src/broker/turn-quota.ts";

it("runs so many pieces of work in a turn, and the others in order in the next ones", async () => {
  const quota = new TurnQuota(2);
  const done: number[] = [];
  for (let piece = 0; piece < 5; piece += 1) quota.run(() => done.push(piece));
  const turns: number[][] = [[...done]];
  while (done.length < 6) {
    await nextTurn();
    turns.push([...done]);
    if (turns.length === 2) quota.run(() => done.push(5));
  }
  expect(turns).toEqual([
    [0, 1],
    [0, 1, 2, 3],
    [0, 1, 2, 3, 4, 5],
  ]);
});

it("runs work that comes in later turns at once", async () => {
  const quota = new TurnQuota(1);
  for (let turn = 0; turn < 3; turn += 1) {
    let ran = false;
    quota.run(() => {
      ran = true;
    });
    expect(ran).toBe(true);
    await nextTurn();
  }
});
