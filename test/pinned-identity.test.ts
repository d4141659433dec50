/** Open admission: a board without credentials keeps its Device-Id; nobody displaces it or locks it out. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { asObject } from "./http-client.ts";
import { OtaBoard } from "./ota-board.ts";
import { firstDevice, openSite, type Site } from "./site.ts";
import { Refused } from "./websocket-wire.ts";

const real = { clientId: "0b7c1a5e-0000-4000-8000-000000000001" };
const stranger = { clientId: "0b7c1a5e-0000-4000-8000-000000000002" };

async function refusal(site: Site, claim: { clientId: string }) {
  const error: unknown = await site.connect(claim).catch((cause: unknown) => cause);
  if (!(error instanceof Refused)) throw new TypeError("it was admitted");
  return asObject(error.body);
}

describe("a board that joined without credentials", () => {
  it("is not displaced by another Client-Id, and comes back itself", async () => {
    const site = await openSite();
    const board = await site.join(real);
    expect(await refusal(site, stranger)).toMatchObject({
      code: "unauthenticated",
      detail: expect.stringContaining("another board joined with this Device-Id first"),
    });
    await board.quiet();
    board.cut();
    await site.join(real);
    expect((await site.device(firstDevice))["online"]).toBe(true);
  });

  it("is not locked out when a stranger asks for its settings: the stranger gets a code", async () => {
    const site = await openSite();
    const board = await site.join(real);
    const other = new OtaBoard(site.url, stranger);
    const { body } = await other.ask();
    expect(body).toHaveProperty("activation.code");
    expect(body).not.toHaveProperty("mqtt");
    expect(body).not.toHaveProperty("websocket");
    board.cut();
    await site.join(real);
  });

  it("is replaced when a person approves the other board's code", async () => {
    const site = await openSite();
    const board = await site.join(real);
    const other = new OtaBoard(site.url, stranger);
    const { code } = await other.shown();
    const { body } = await site.rest("POST", "/devices/approve", { code });
    expect(body).toMatchObject({ approval: "approved", replaced: true });
    await board.wire.ended;
    expect(await other.mqtt()).toBeDefined();
    expect((await refusal(site, real))["code"]).toBe("unauthenticated");
  });

  it("gets credentials when it asks for its settings itself", async () => {
    const site = await openSite();
    await site.join(real);
    expect(await new OtaBoard(site.url, real).mqtt()).toBeDefined();
  });

  it("gives up its Device-Id when it is deleted", async () => {
    const site = await openSite();
    const board = await site.join(real);
    await site.rest("DELETE", `/devices/${firstDevice}`);
    await board.wire.ended;
    await site.join(stranger);
    expect((await refusal(site, real))["code"]).toBe("unauthenticated");
  });

  it("is decided at its hello: of two that connect at once, the first to greet stays", async () => {
    const site = await openSite();
    const first = await site.connect(real);
    const second = await site.connect(stranger);
    await second.greet();
    first.send({ type: "hello" });
    expect((await first.wire.ended).code).toBe(1008);
    expect((await site.device(firstDevice))["online"]).toBe(true);
  });
});

describe("after a restart", () => {
  it("the first Client-Id still counts, also if the policy was another one meanwhile", async () => {
    const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-pinned-"));
    onTestFinished(() => fs.rmSync(data, { recursive: true, force: true }));
    const first = await openSite({ config: { data } });
    await first.join(real);
    await first.stop();
    const strict = await openSite({ config: { data, devices: { admission: "approve" } } });
    expect((await refusal(strict, real))["code"]).toBe("forbidden");
    await strict.stop();
    const site = await openSite({ config: { data } });
    expect((await refusal(site, stranger))["code"]).toBe("unauthenticated");
    await site.join(real);
  });
});
