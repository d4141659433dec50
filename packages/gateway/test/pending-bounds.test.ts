import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { limits } from "@tendon/protocol";
import { expect, it, onTestFinished } from "vitest";
import { startTendon } from "../src/gateway.ts";
import { openSqliteFile } from "../src/store/sqlite-library.ts";

interface Activation {
  readonly code?: string;
  readonly challenge?: string;
}

// So many requests would mostly measure the disk, so the other codes are written directly.
it.each([
  ["in all", limits.pendingPairs.max, "198.51.100.7"],
  ["from one address", limits.pendingPairsPerSource.max, "127.0.0.1"],
])(
  "[OTA-8] when as many boards as may wait %s do, one more is kept asking without a code until there is room",
  async (_, most, source) => {
    const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-pending-"));
    const tendon = await startTendon(
      { data, http: { port: 0 }, mqtt: { port: 0 }, log: { level: "silent" } },
      { adminToken: "a-token-for-these-tests" },
    );
    onTestFinished(async () => {
      await tendon.stop();
      fs.rmSync(data, { recursive: true, force: true });
    });
    const ask = async (client: string, to = ""): Promise<{ status: number; activation: Activation }> => {
      const answer = await fetch(`${tendon.url}/xiaozhi/ota/${to}`, {
        method: "POST",
        headers: { "device-id": "02:00:00:00:00:01", "client-id": client },
        body: "{}",
      });
      const body = (await answer.json()) as { activation?: Activation };
      return { status: answer.status, activation: body.activation ?? {} };
    };
    const waiting = (await ask("the-first")).activation;
    const database = openSqliteFile(path.join(data, "tendon.db"));
    onTestFinished(() => database.close());
    database
      .prepare(
        `with recursive row(i) as (select 1 union all select i + 1 from row where i < ${most - 1})
         insert into tendon_pairings
           (device, client_id_hash, code, challenge, details, attempts, created_at, expires_at, source)
         select cast(i as text), 'h', 'c' || i, 'c', 'null', 0, 0, ${Date.now() + 900_000}, '${source}' from row`,
      )
      .run();
    const late = await ask("one-more");
    expect(late.status).toBe(200);
    expect(Object.keys(late.activation).sort()).toEqual(["challenge", "message", "timeout_ms"]);
    expect((await ask("one-more", "activate")).status).toBe(202);
    // A board with a code keeps it.
    expect((await ask("the-first")).activation).toMatchObject({ code: waiting.code });
    database.prepare("delete from tendon_pairings where device = '1'").run();
    expect((await ask("one-more")).activation.code).toMatch(/^\d{6}$/);
  },
);
