/** A database file with damaged pages, as a failing disk or a wrong copy leaves it. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { StartError, startTendon, type Tendon } from "@tendon/gateway";
import { expect, it, onTestFinished } from "vitest";
import { writeDatabase } from "../packages/gateway/test/store/database-file.ts";
import { askAll } from "./http-client.ts";
import { adminToken } from "./site.ts";

async function start(data: string): Promise<Tendon> {
  return await startTendon(
    { data, log: { level: "silent" }, http: { port: 0 }, mqtt: { port: 0 }, voice: { udpPort: 0 } },
    { adminToken },
  );
}

/** A stopped gateway's folder with 100 tokens, all of them in the database file itself. */
async function usedFolder(): Promise<{ readonly data: string; readonly file: string }> {
  const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-damaged-"));
  onTestFinished(() => fs.rmSync(data, { recursive: true, force: true }));
  const tendon = await start(data);
  const headers = { authorization: `Bearer ${adminToken}`, "content-type": "application/json" };
  for (let number = 0; number < 100; number += 1) {
    const body = JSON.stringify({ name: `token ${number}`, scopes: ["read"] });
    const { status } = await askAll(tendon.url, { method: "POST", path: "/api/v1/tokens", headers, body });
    expect(status).toBe(201);
  }
  await tendon.stop();
  const file = path.join(data, "tendon.db");
  writeDatabase(file, "pragma wal_checkpoint(truncate)");
  return { data, file };
}

it.each([
  ["the header", 0, 100],
  ["the schema", 100, 4_096],
  ["every page but the first", 4_096, undefined],
  ["a few pages in the middle", 40_960, 122_880],
])("damage in %s is reported with what to do, and changes nothing", async (_where, from, to) => {
  const { data, file } = await usedFolder();
  const bytes = fs.readFileSync(file);
  expect(bytes.length).toBeGreaterThan(122_880);
  bytes.fill(0xab, from, to);
  fs.writeFileSync(file, bytes);
  const starting = start(data);
  await expect(starting).rejects.toThrow(StartError);
  await expect(starting).rejects.toThrow(
    /The database .*cannot be (opened|read) \(.*(malformed|not a database).*Restore it from a backup/,
  );
  expect(fs.readFileSync(file).equals(bytes)).toBe(true);
});
