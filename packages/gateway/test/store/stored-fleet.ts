/** A data folder with the records of a fleet that never connected. */
import type { ToolDefinition } from "@tendon/protocol";
import { ManualClock } from "../../../../test/manual-clock.ts";
import { openStore } from "../../src/store/store.ts";
import { device } from "./samples.ts";

export async function storeFleet(
  dataFolder: string,
  devices: number,
  tools: ToolDefinition[],
): Promise<void> {
  const clock = new ManualClock();
  const store = await openStore({ clock, dataFolder, onProblem: () => undefined });
  await store.transaction(async (parts) => {
    for (let number = 1; number <= devices; number += 1) {
      const row = device(number, { lastSeenAt: clock.now(), tags: [`floor-${number % 20}`] });
      await parts.devices.save(row);
      await parts.toolLists.save(row.id, {
        tools,
        setAside: [],
        complete: true,
        problem: undefined,
        truncated: false,
      });
    }
  });
  await store.close();
}
