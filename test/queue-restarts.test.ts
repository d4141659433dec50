/** Kills the gateway in every phase of a queued call: nothing is lost, and nothing runs twice. */
import path from "node:path";
import { expect, it } from "vitest";
import { writeDatabase } from "../packages/gateway/test/store/database-file.ts";
import { until } from "./inbox.ts";
import { type Fields, type RawDevice, textContent, tool } from "./raw-device.ts";
import { inItsOwnProcess, RestartingGateway } from "./restarting-gateway.ts";

const lamp = "02:00:00:00:00:01";
const offer = { tools: [tool("dim", { to: { type: "integer" } }, ["to"])] };

async function away(): Promise<{ gateway: RestartingGateway; token: string }> {
  const gateway = await RestartingGateway.start(inItsOwnProcess());
  const token = await gateway.provision(lamp);
  const device = await gateway.join(lamp, offer, token);
  device.close();
  await until(async () => (await gateway.rest("GET", `/devices/${lamp}`)).body["online"] === false);
  return { gateway, token };
}

async function queue(gateway: RestartingGateway, to: number): Promise<string> {
  const at = `/devices/${lamp}/tools/dim/call`;
  const { status, body } = await gateway.rest("POST", at, { arguments: { to }, whenOffline: "queue" });
  expect(status).toBe(202);
  return String(body["callId"]);
}

async function ended(gateway: RestartingGateway, callId: string): Promise<Fields> {
  return await until(async () => {
    const { body } = await gateway.rest("GET", `/calls/${callId}`);
    return body["state"] === "finished" && body;
  }, "the end of the call");
}

/** The values of the calls that the device gets until it is quiet. */
async function calls(device: RawDevice, count: number): Promise<unknown[]> {
  const got: unknown[] = [];
  while (got.length < count) {
    const { id, params } = await device.nextRequest("tools/call");
    got.push((params["arguments"] as Fields)["to"]);
    device.reply(id, textContent("done"));
  }
  expect(await device.quiet()).toEqual([]);
  return got;
}

async function inHistory(gateway: RestartingGateway, callId: string): Promise<Fields[]> {
  return await until(async () => {
    const { body } = await gateway.rest("GET", "/calls");
    const found = (body["calls"] as Fields[]).filter((call) => call["callId"] === callId);
    return found.length > 0 && found;
  }, "the call in the history");
}

it("[QUE-5] a call that waits survives kill -9, with its place and its expiry", async () => {
  const { gateway, token } = await away();
  const [one, two] = [await queue(gateway, 1), await queue(gateway, 2)];
  await gateway.kill();
  await gateway.start();
  expect((await gateway.rest("GET", `/calls/${one}`)).body).toMatchObject({ state: "queued" });
  const device = await gateway.join(lamp, offer, token);
  expect(await calls(device, 2)).toEqual([1, 2]);
  for (const id of [one, two]) expect(await ended(gateway, id)).toMatchObject({ outcome: "ok" });
});

it("[QUE-5] a call that was sent when the gateway was killed may have run: it ends and does not run again", async () => {
  const { gateway, token } = await away();
  const [sent, waiting] = [await queue(gateway, 1), await queue(gateway, 2)];
  const device = await gateway.join(lamp, offer, token);
  await device.nextRequest("tools/call");
  await gateway.kill();
  await gateway.start();
  const end = await ended(gateway, sent);
  expect(end).toMatchObject({ outcome: "device_disconnected", sentAt: expect.any(String) });
  expect(await inHistory(gateway, sent)).toMatchObject([{ outcome: "device_disconnected" }]);
  const again = await gateway.join(lamp, offer, token);
  expect(await calls(again, 1)).toEqual([2]);
  expect(await ended(gateway, waiting)).toMatchObject({ outcome: "ok" });
});

it("[QUE-5] a call that was answered when the gateway was killed ends once and does not run again", async () => {
  const { gateway, token } = await away();
  const answered = await queue(gateway, 1);
  const device = await gateway.join(lamp, offer, token);
  const { id } = await device.nextRequest("tools/call");
  device.reply(id, textContent("done"));
  await gateway.kill();
  await gateway.start();
  const { outcome } = await ended(gateway, answered);
  expect(["ok", "device_disconnected"]).toContain(outcome);
  expect(await inHistory(gateway, answered)).toMatchObject([{ outcome }]);
  const again = await gateway.join(lamp, offer, token);
  expect(await again.quiet()).toEqual([]);
});

/** What kill -9 leaves at a point that a test cannot hit: the rows as they are then. */
async function rewrite(gateway: RestartingGateway, sql: string): Promise<void> {
  await gateway.kill();
  writeDatabase(path.join(gateway.folder, "data", "tendon.db"), sql);
  await gateway.start();
}

it("[QUE-5] a call that was taken and not yet sent ends as device_disconnected, not as lost", async () => {
  const { gateway, token } = await away();
  const taken = await queue(gateway, 1);
  await rewrite(
    gateway,
    "update tendon_queued_calls set state = 'running', run = 'a-run-that-has-ended', started_at = queued_at",
  );
  expect(await ended(gateway, taken)).toMatchObject({ outcome: "device_disconnected" });
  expect(await inHistory(gateway, taken)).toHaveLength(1);
  const device = await gateway.join(lamp, offer, token);
  expect(await device.quiet()).toEqual([]);
});

it.each([
  ["is not in the history yet", "delete from tendon_calls; delete from tendon_last_calls;"],
  ["is in the history already", ""],
])("[QUE-5] a call that has ended and %s is there once", async (_where, sql) => {
  const { gateway, token } = await away();
  const callId = await queue(gateway, 1);
  const device = await gateway.join(lamp, offer, token);
  expect(await calls(device, 1)).toEqual([1]);
  const { at } = await ended(gateway, callId);
  await inHistory(gateway, callId);
  await rewrite(
    gateway,
    `${sql} update tendon_queued_calls set state = 'ended', run = 'a-run-that-has-ended'`,
  );
  expect(await inHistory(gateway, callId)).toMatchObject([{ callId, outcome: "ok", at }]);
  expect(await ended(gateway, callId)).toMatchObject({ outcome: "ok", answer: { isError: false } });
});
