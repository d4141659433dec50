/**
 * A data folder as version 0.1.0 left it: a gateway of that version ran the demo, one more board, two tokens and a call,
 * and stopped. Its database is kept as SQL text in fixtures/data-0.1.0.
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { fleetIdentity, VirtualDevice } from "@tendon/simulator";
import { expect, it, onTestFinished } from "vitest";
import { writeDatabase } from "../packages/gateway/test/store/database-file.ts";
import { until } from "./inbox.ts";
import { openSite, type Site } from "./site.ts";

const fixture = fileURLToPath(new URL("./fixtures/data-0.1.0", import.meta.url));
const board = "02:00:00:00:20:01";
/** When it was written. The times are moved to the present, so that the history is not too old to keep. */
const written = 1_794_819_627_304;
const tokens = { builder: "tdn_ShCUDcSdV2-vYFco6U7KGTkD1H1NMd38" };

function oldDataFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-upgrade-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  for (const name of fs.readdirSync(fixture)) {
    if (name.endsWith(".sql")) continue;
    fs.copyFileSync(path.join(fixture, name), path.join(folder, name));
    fs.chmodSync(path.join(folder, name), 0o600);
  }
  const sql = fs.readFileSync(path.join(fixture, "tendon.sql"), "utf8");
  const moved = sql.replaceAll(/\b17948\d{8}\b/g, (at) => String(Number(at) - written + Date.now()));
  writeDatabase(path.join(folder, "tendon.db"), moved);
  return folder;
}

const open = async (data: string) => await openSite({ config: { data, devices: { admission: "approve" } } });
const as = (token: string) => ({ authorization: `Bearer ${token}` });

async function expectEverything(site: Site): Promise<void> {
  const { body, status } = await site.rest("GET", "/devices", undefined, as(tokens.builder));
  expect(status).toBe(200);
  const devices = body["devices"] as { alias: string; tags: string[]; toolCount: number }[];
  expect(devices.map(({ alias }) => alias).sort()).toEqual([
    "esp-box-3-3001",
    "home",
    "m5stack-core-s3-3002",
    "workshop-1",
  ]);
  expect(devices.find(({ alias }) => alias === "workshop-1")).toMatchObject({
    tags: ["workshop"],
    toolCount: 12,
  });
  // An earlier alias still leads to the board.
  expect(await site.device("esp-box-3-2001")).toMatchObject({ id: board, firmware: "2.4.2" });
  const { body: tokenList } = await site.rest("GET", "/tokens");
  expect((tokenList["tokens"] as { name: string }[]).map(({ name }) => name)).toContain("builder");
  const { body: history } = await site.rest("GET", `/calls?device=${board}`);
  expect((history["calls"] as unknown[]).at(-1)).toMatchObject({
    tool: "self.audio_speaker.set_volume",
    outcome: "ok",
    principal: "admin",
  });
}

it("a data folder of 0.1.0 keeps its devices, tokens, names and history, and its boards need no new code", async () => {
  const data = oldDataFolder();
  const site = await open(data);
  await expectEverything(site);

  const { mac, clientId } = fleetIdentity(0, board);
  const device = new VirtualDevice({
    otaUrl: `${site.url}/xiaozhi/ota/`,
    board: { mac, clientId, name: "esp-box-3" },
  });
  onTestFinished(async () => await device.stop());
  await device.connect();
  await until(async () => (await site.device(board))["online"] === true, "the board online");
  const { status, body } = await site.call("workshop-1", "self.audio_speaker.set_volume", { volume: 42 });
  expect([status, body["device"]]).toEqual([200, board]);
  await device.stop();
  await site.tendon.stop();

  // The second start finds the new schema, and everything again.
  const again = await open(data);
  await expectEverything(again);
  const { body: history } = await again.rest("GET", `/calls?device=${board}`);
  expect(history["calls"]).toHaveLength(2);
});
