/** Webhooks on several nodes with PostgreSQL: one node delivers, and another one takes over. */
import { describe, expect, it } from "vitest";
import { Engines } from "../cluster/nodes.ts";
import { ProcessNode } from "../cluster/process-node.ts";
import { until } from "../inbox.ts";
import { firstDevice, type Site } from "../site.ts";
import { type Message, Receiver, verified } from "./receiver.ts";

const takeoverMs = 15_000;

function methods(messages: readonly Message[]): unknown[] {
  return messages.map(({ body }) => body.data["method"]);
}

describe("webhooks of a cluster", () => {
  const engines = new Engines();

  it("are delivered once, whichever node the device and the request came to", async () => {
    const receiver = await Receiver.open();
    const fleet = await engines.newFleet();
    const config = { webhooks: { allowHosts: [receiver.host] } };
    const [one, two] = (await fleet.nodes(2, { config })) as [Site, Site];
    const request = { url: receiver.url, types: ["device.notification"] };
    const made = (await one.rest("POST", "/webhooks", request)).body;
    const path = `/webhooks/${String(made["id"])}`;
    const device = await two.join();
    device.notify("one");
    device.notify("two");
    expect(methods(await receiver.received(2))).toEqual(["one", "two"]);
    // A change at the other node reaches the owner.
    await two.rest("PATCH", path, { enabled: false });
    device.notify("three");
    const events = await one.events("?type=device.notification");
    device.notify("four");
    await events.next();
    expect(receiver.attempts).toHaveLength(2);
    const { body: rotated } = await two.rest("POST", `${path}/rotate`);
    await two.rest("PATCH", path, { enabled: true });
    const accepted = await receiver.received(4);
    expect(methods(accepted)).toEqual(["one", "two", "three", "four"]);
    expect(verified(accepted[3] as Message, String(rotated["secret"]))).toMatchObject({
      data: { device: firstDevice },
    });
    await until(async () => (await two.rest("GET", path)).body["pending"] === 0);
    const since = accepted[0]?.body.timestamp;
    expect((await two.rest("POST", `${path}/replay`, { since })).body).toEqual({ replayed: 4 });
    expect(methods((await receiver.received(8)).slice(4))).toEqual(["one", "two", "three", "four"]);
  });

  it("continue at another node in order when their node is killed", async () => {
    const receiver = await Receiver.open();
    const { cluster, storage } = await engines.newFleet();
    const env = {
      TENDON_CLUSTER: cluster,
      TENDON_STORAGE: storage,
      TENDON_WEBHOOKS_ALLOW_HOSTS: JSON.stringify([receiver.host]),
    };
    const owner = await ProcessNode.start(env);
    const other = await ProcessNode.start(env);
    await other.sees(2);
    const request = { url: receiver.url, types: ["device.notification"] };
    const { id } = (await owner.rest("POST", "/webhooks", request)).body;
    const device = await other.join(firstDevice, []);
    device.notify("one");
    await receiver.received(1);
    await until(async () => (await other.get(`/webhooks/${String(id)}`))["pending"] === 0);
    receiver.answer(503);
    device.notify("two");
    await receiver.attempted(2);
    await owner.kill();
    const killedAt = performance.now();
    receiver.answer(200);
    device.notify("three");
    await until(() => receiver.accepted.length >= 3, "the takeover");
    expect(performance.now() - killedAt).toBeLessThan(takeoverMs);
    expect(methods(receiver.accepted)).toEqual(["one", "two", "three"]);
  });
});
