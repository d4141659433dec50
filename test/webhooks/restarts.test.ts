/** The queue of a webhook survives restarts and kill -9. */
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { inItsOwnProcess, RestartingGateway } from "../restarting-gateway.ts";
import { type Message, Receiver, verified } from "./receiver.ts";

const device = "02:00:00:00:00:01";

interface Made {
  readonly id: string;
  readonly secret: string;
}

async function add(gateway: RestartingGateway, receiver: Receiver): Promise<Made> {
  const request = { url: receiver.url, types: ["device.notification"] };
  return (await gateway.rest("POST", "/webhooks", request)).body as unknown as Made;
}

async function pending(gateway: RestartingGateway, id: string, count: number): Promise<void> {
  await until(async () => (await gateway.rest("GET", `/webhooks/${id}`)).body["pending"] === count);
}

function methods(messages: readonly Message[]): unknown[] {
  return messages.map(({ body }) => body.data["method"]);
}

describe("the position of a webhook", () => {
  it("survives a restart: what was delivered is not repeated, and the rest follows in order", async () => {
    const receiver = await Receiver.open();
    const gateway = await RestartingGateway.start({ webhooks: { allowHosts: [receiver.host] } });
    const { id, secret } = await add(gateway, receiver);
    const board = await gateway.join(device);
    board.notify("one");
    await receiver.received(1);
    await pending(gateway, id, 0);
    receiver.answer(503);
    board.notify("two");
    board.notify("three");
    await pending(gateway, id, 2);
    await gateway.stop();
    receiver.answer(200);
    await gateway.start();
    const accepted = await receiver.received(3);
    expect(methods(accepted)).toEqual(["one", "two", "three"]);
    // The secret can still be opened.
    expect(verified(accepted[2] as Message, secret)).toMatchObject({ data: { device } });
  });

  it("survives kill -9", async () => {
    const receiver = await Receiver.open();
    const env = { TENDON_WEBHOOKS_ALLOW_HOSTS: JSON.stringify([receiver.host]) };
    const gateway = await RestartingGateway.start(inItsOwnProcess(env));
    const { id } = await add(gateway, receiver);
    const board = await gateway.join(device);
    board.notify("one");
    await receiver.received(1);
    await pending(gateway, id, 0);
    receiver.answer(503);
    for (const method of ["two", "three", "four"]) board.notify(method);
    await pending(gateway, id, 3);
    await gateway.kill();
    receiver.answer(200);
    await gateway.start();
    expect(methods(await receiver.received(4))).toEqual(["one", "two", "three", "four"]);
  });

  it("survives kill -9 while a request runs: the event comes again under the same id", async () => {
    const receiver = await Receiver.open();
    const env = { TENDON_WEBHOOKS_ALLOW_HOSTS: JSON.stringify([receiver.host]) };
    const gateway = await RestartingGateway.start(inItsOwnProcess(env));
    await add(gateway, receiver);
    const board = await gateway.join(device);
    receiver.reply = () => {};
    board.notify("one");
    const [before] = (await receiver.attempted(1)) as [Message];
    await gateway.kill();
    receiver.accepted.length = 0;
    receiver.answer(200);
    await gateway.start();
    const [after] = (await receiver.received(1)) as [Message];
    expect(after.headers["webhook-id"]).toBe(before.headers["webhook-id"]);
    expect(after.text).toBe(before.text);
  });
});
