/** Webhooks while the database does not answer. */
import { expect, it, onTestFinished } from "vitest";
import { PostgresServer } from "../../packages/gateway/test/store/postgres-server.ts";
import { until } from "../inbox.ts";
import { openSite } from "../site.ts";
import { type Message, Receiver } from "./receiver.ts";

it("events that happen while PostgreSQL is unavailable are delivered afterwards, in order", async () => {
  const server = await PostgresServer.start();
  onTestFinished(() => server.remove());
  const receiver = await Receiver.open();
  const config = { storage: await server.newDatabase(), webhooks: { allowHosts: [receiver.host] } };
  const site = await openSite({ config });
  const request = { url: receiver.url, types: ["device.notification"] };
  const { body } = await site.rest("POST", "/webhooks", request);
  const device = await site.join();
  device.notify("one");
  await receiver.received(1);
  await until(async () => (await site.rest("GET", `/webhooks/${String(body["id"])}`)).body["pending"] === 0);
  await server.stop();
  const events = await site.events("?type=device.notification");
  for (const method of ["two", "three"]) device.notify(method);
  await events.next();
  await events.next();
  expect(await site.rest("GET", "/webhooks")).toMatchObject({
    status: 503,
    body: { code: "storage_unavailable" },
  });
  await server.startAgain();
  const accepted: Message[] = await receiver.received(3);
  expect(accepted.map((message) => message.body.data["method"])).toEqual(["one", "two", "three"]);
});

it("the 101st webhook is a conflict", async () => {
  const site = await openSite();
  const add = async () =>
    await site.rest("POST", "/webhooks", { url: "https://hooks.example/", types: ["firmware.halted"] });
  for (let count = 0; count < 100; count += 1) expect((await add()).status).toBe(201);
  expect(await add()).toMatchObject({ status: 409, body: { code: "conflict" } });
});
