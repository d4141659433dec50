import { describe, expect, it } from "vitest";
import { Batch } from "../src/batch.ts";

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

describe("a batch", () => {
  it("does the work of a single item at once", async () => {
    const done: number[] = [];
    const batch = new Batch<number>((item) => done.push(item));
    for (const item of [1, 2, 3]) {
      batch.add(item);
      expect(done.at(-1)).toBe(item);
      await nextTurn();
    }
  });

  it("collects the items of a turn after one that had several, until turns have one again", async () => {
    const done: number[] = [];
    const batch = new Batch<number>((item) => done.push(item));
    batch.add(1);
    batch.add(2);
    expect(done).toEqual([1, 2]);
    await nextTurn();
    batch.add(3);
    expect(done).toEqual([1, 2]);
    await nextTurn();
    expect(done).toEqual([1, 2, 3]);
    batch.add(4);
    expect(done).toEqual([1, 2, 3, 4]);
    await nextTurn();
  });

  it("ends when it is full, and when later work must follow it", async () => {
    const done: number[] = [];
    const batch = new Batch<number>((item) => done.push(item), 2);
    batch.add(0);
    batch.add(0);
    await nextTurn();
    done.length = 0;
    for (const item of [1, 2, 3]) batch.add(item);
    expect(done).toEqual([1, 2]);
    batch.flush();
    expect(done).toEqual([1, 2, 3]);
    await nextTurn();
    expect(done).toEqual([1, 2, 3]);
  });
});
