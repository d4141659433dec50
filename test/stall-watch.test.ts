/** The watch over every system test must see a stall, and only a stall. */
import { spawnSync } from "node:child_process";
import { setTimeout as nextTurn } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { type Stall, stallWatch } from "./stall-watch.ts";

function watchThisTest(): void {
  const gateway = stallWatch.watch({ stop: async () => {} });
  onTestFinished(() => gateway.stop());
}

/** Uses the processor for as long, however busy the machine is. */
function keepBusy(ms: number): void {
  const began = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(began);
    if ((user + system) / 1_000 >= ms) return;
  }
}

/** Stalls until the watch, which may have just started, has seen it. */
async function stallUntilSeen(): Promise<readonly Stall[]> {
  for (let attempt = 0; attempt < 10; attempt += 1) {
    keepBusy(600);
    for (let turn = 0; turn < 10; turn += 1) {
      await nextTurn(20);
      const stalls = stallWatch.take();
      if (stalls.length > 0) return stalls;
    }
  }
  return [];
}

it("reports how long the event loop was busy, and with what", async () => {
  watchThisTest();
  // On a busy machine a stall may end before the debugger has read its stack.
  const seen: Stall[] = [];
  while (seen.length < 10 && !seen.some(({ stack }) => stack.join().includes("keepBusy")))
    seen.push(...(await stallUntilSeen()));
  for (const { busyMs } of seen) expect(busyMs).toBeGreaterThan(200);
  expect(seen.at(-1)?.stack.join()).toContain("keepBusy");
});

it("does not count a process that only waits, nor many short turns", async () => {
  watchThisTest();
  await stallUntilSeen();
  spawnSync(process.execPath, ["-e", "setTimeout(() => {}, 400)"]);
  for (let turn = 0; turn < 10; turn += 1) {
    keepBusy(50);
    await nextTurn(0);
  }
  // Reports come in order: the first one is of this stall.
  expect(await stallUntilSeen()).toEqual([{ busyMs: expect.any(Number), stack: expect.any(Array) }]);
});

it("does not count work that the test declares as its own", async () => {
  watchThisTest();
  await stallUntilSeen();
  await stallWatch.ownWork(async () => {
    keepBusy(600);
    await nextTurn(0);
  });
  expect(await stallUntilSeen()).toHaveLength(1);
});

it("does not count what happens before a gateway is ready or after it has stopped", async () => {
  keepBusy(600);
  await nextTurn(0);
  watchThisTest();
  expect(await stallUntilSeen()).toHaveLength(1);
});

it("does not count a gateway that the tests of another file left behind", async () => {
  stallWatch.watch({ stop: async () => {} });
  stallWatch.startOver();
  keepBusy(600);
  await nextTurn(0);
  watchThisTest();
  expect(await stallUntilSeen()).toHaveLength(1);
});
