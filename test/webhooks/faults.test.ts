/** Receivers that fail, in every way that a test can give them. */
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import type { ConfigInput } from "@tendon/gateway";
import { describe, expect, it } from "vitest";
import { makeToken } from "../access/tokens.ts";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { openSite, type Site } from "../site.ts";
import { type Message, Receiver } from "./receiver.ts";

const secondMs = 1_000;
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const other = "02:00:00:00:00:02";

class Setup {
  readonly clock = new ManualClock(Date.now());
  readonly receiver: Receiver;
  readonly site: Site;
  id = "";
  secret = "";

  private constructor(receiver: Receiver, site: Site, clock: ManualClock) {
    this.receiver = receiver;
    this.site = site;
    this.clock = clock;
  }

  /** A gateway with a webhook for the audit: each new token is one event. */
  static async open(settings: ConfigInput["webhooks"] = {}, types = ["audit.recorded"]): Promise<Setup> {
    const receiver = await Receiver.open();
    const clock = new ManualClock(Date.now());
    const config = { webhooks: { allowHosts: [receiver.host], ...settings } };
    const setup = new Setup(receiver, await openSite({ clock, config }), clock);
    const { body } = await setup.site.rest("POST", "/webhooks", { url: receiver.url, types });
    setup.id = String(body["id"]);
    setup.secret = String(body["secret"]);
    return setup;
  }

  /** Lets the time pass in steps, so that requests and writes happen in between, until this holds. */
  async pass(stepMs: number, holds: () => boolean | Promise<boolean>): Promise<void> {
    await until(async () => {
      this.clock.advance(stepMs);
      return await holds();
    }, "what should happen meanwhile");
  }

  /** Makes one event and waits until it is stored. */
  async happens(name: string): Promise<void> {
    const before = Number((await this.view())["pending"]) + this.receiver.accepted.length;
    await makeToken(this.site, { name });
    await this.pass(50, async () => {
      const { pending } = await this.view();
      return Number(pending) + this.receiver.accepted.length > before;
    });
  }

  async view(): Promise<Record<string, unknown>> {
    return (await this.site.rest("GET", `/webhooks/${this.id}`)).body;
  }

  /** The names of the tokens that the receiver has accepted. */
  get names(): string[] {
    return namesOf(this.receiver.accepted);
  }
}

function namesOf(messages: readonly Message[]): string[] {
  return messages.flatMap(({ body }) => {
    const { action, target } = body.data as { action?: string; target?: { name: string } };
    return action === "token.create" && target !== undefined ? [target.name] : [];
  });
}

describe("a receiver that is down", () => {
  it("for ten minutes gets everything in order when it is back, after growing pauses", async () => {
    const setup = await Setup.open();
    const { clock, receiver } = setup;
    receiver.answer(503);
    const start = clock.now();
    const names: string[] = [];
    while (clock.now() - start < 10 * minuteMs) {
      names.push(`token ${names.length}`);
      await setup.happens(String(names.at(-1)));
      clock.advance(minuteMs);
    }
    expect(receiver.accepted).toEqual([]);
    // One probe per pause, always the same event under the same id.
    const ids = receiver.attempts.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(1);
    expect(ids.length).toBeLessThan(12);
    expect(await setup.view()).toMatchObject({ state: "failing", lastFailure: { status: 503 } });
    receiver.answer(200);
    await setup.pass(secondMs, () => setup.names.length === names.length);
    expect(setup.names).toEqual(names);
    await until(async () => (await setup.view())["pending"] === 0);
    expect(await setup.view()).toMatchObject({ state: "ok", pending: 0 });
    expect(await setup.site.metric("tendon_webhook_events_pending")).toBe(0);
  });

  it("for a day is disabled, and continues at the stored position when it is enabled again", async () => {
    const setup = await Setup.open();
    const { clock, receiver } = setup;
    receiver.answer(500);
    const disabled = await setup.site.events("?type=webhook.disabled");
    await setup.happens("early");
    await setup.pass(50, async () => (await setup.view())["state"] === "failing");
    clock.advance(dayMs - 60 * minuteMs);
    await setup.happens("late");
    await setup.pass(5 * minuteMs, async () => (await setup.view())["state"] === "disabled");
    const reason = "deliveries failed for 24 hours";
    expect(await disabled.next()).toMatchObject({ data: { webhook: setup.id, reason } });
    expect(await setup.view()).toMatchObject({ enabled: false, disabledReason: reason });
    receiver.answer(200);
    await setup.site.rest("PATCH", `/webhooks/${setup.id}`, { enabled: true });
    await setup.pass(secondMs, () => setup.names.includes("late"));
    // The first event was kept for a day and is gone by now; the receiver is told.
    expect(receiver.accepted[0]?.body).toMatchObject({ type: "webhook.gap", data: { count: 2 } });
    expect(setup.names).toEqual(["late"]);
  });

  it("and flaps gets each event once, in order", async () => {
    const setup = await Setup.open();
    let count = 0;
    setup.receiver.reply = (_message, response) => {
      count += 1;
      response.writeHead(count % 2 === 0 ? 200 : 500).end();
    };
    const names = ["a", "b", "c", "d", "e"];
    for (const name of names) await setup.happens(name);
    await setup.pass(secondMs, () => setup.names.length >= names.length);
    expect(setup.names).toEqual(names);
  });

  it("loses the oldest events beyond the limit, and is told how many", async () => {
    const setup = await Setup.open({ maxPending: 5 });
    setup.receiver.answer(503);
    for (let index = 0; index < 12; index += 1) {
      await makeToken(setup.site, { name: `token ${index}` });
      await setup.pass(minuteMs, () => true);
    }
    await setup.pass(minuteMs, async () => Number((await setup.view())["pending"]) <= 5);
    setup.receiver.answer(200);
    await setup.pass(secondMs, () => setup.names.includes("token 11"));
    const [gap] = setup.receiver.accepted as [Message];
    expect(gap.body.type).toBe("webhook.gap");
    const { from, to, count } = gap.body.data as { from: string; to: string; count: number };
    expect(Date.parse(from)).toBeLessThan(Date.parse(to));
    // With the creation of the webhook, 13 events happened.
    expect(count + setup.receiver.accepted.length - 1).toBe(13);
    expect(setup.names).toEqual(setup.names.toSorted((a, b) => Number(a.slice(6)) - Number(b.slice(6))));
  });
});

describe("a receiver that answers", () => {
  it("410 is disabled at once", async () => {
    const setup = await Setup.open();
    const disabled = await setup.site.events("?type=webhook.disabled");
    setup.receiver.answer(410);
    await makeToken(setup.site, {});
    await setup.pass(50, async () => (await setup.view())["state"] === "disabled");
    expect(await disabled.next()).toMatchObject({ data: { reason: "the receiver answered 410 Gone" } });
    expect(await setup.site.metric("tendon_webhooks_disabled_total")).toBe(1);
  });

  it.each([
    ["in seconds", () => "120"],
    ["as a date", (now: number) => new Date(now + 120_000).toUTCString()],
  ])("429 gets no request before its Retry-After %s", async (_how, header) => {
    const setup = await Setup.open();
    const { clock, receiver } = setup;
    receiver.answer(429, { "retry-after": header(clock.now()) });
    await makeToken(setup.site, { name: "later" });
    await setup.pass(50, async () => (await setup.view())["state"] === "failing");
    const { nextAttemptAt } = await setup.view();
    expect(Date.parse(String(nextAttemptAt)) - clock.now()).toBeGreaterThan(115_000);
    receiver.answer(200);
    const before = receiver.attempts.length;
    clock.advance(110_000);
    await setup.view();
    expect(receiver.attempts).toHaveLength(before);
    await setup.pass(secondMs, () => setup.names.includes("later"));
  });

  it("never is given up after 15 s and retried", async () => {
    const setup = await Setup.open();
    const open: unknown[] = [];
    setup.receiver.reply = (_message, response) => void open.push(response);
    await makeToken(setup.site, { name: "hangs" });
    await setup.pass(50, () => open.length === 1);
    await setup.pass(secondMs, async () => (await setup.view())["state"] === "failing");
    expect(await setup.view()).toMatchObject({ lastFailure: { error: "no answer within 15 s" } });
    setup.receiver.answer(200);
    await setup.pass(secondMs, () => setup.names.includes("hangs"));
  });

  it("with a wrong length has received the event all the same", async () => {
    const setup = await Setup.open();
    setup.receiver.reply = (_message, response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write("ok");
    };
    await makeToken(setup.site, { name: "short" });
    await setup.pass(500, async () => (await setup.view())["pending"] === 0 && setup.names.includes("short"));
    expect(await setup.view()).toMatchObject({ state: "ok" });
  });

  it("10 MB is cut off, and has received the event", async () => {
    const setup = await Setup.open();
    let unsent = 0;
    setup.receiver.reply = async (_message, response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(64 * 1024);
      const closed = once(response, "close");
      for (let index = 0; index < 160 && !response.destroyed; index += 1) {
        if (response.write(chunk)) continue;
        await Promise.race([once(response, "drain"), closed]);
      }
      unsent += response.destroyed ? 1 : 0;
    };
    await makeToken(setup.site, { name: "large" });
    await setup.pass(50, async () => setup.names.includes("large") && (await setup.view())["pending"] === 0);
    expect(unsent).toBeGreaterThan(0);
    expect(await setup.view()).toMatchObject({ state: "ok" });
  });

  it("400 to the events of one device gets those of the others meanwhile", async () => {
    const setup = await Setup.open({}, ["device.notification"]);
    const { receiver, site } = setup;
    const first = await site.join();
    const second = await site.join({ deviceId: other });
    receiver.reply = ({ body }, response) =>
      void response.writeHead(body.data["method"] === "poison" ? 400 : 200).end();
    first.notify("poison");
    first.notify("waits");
    second.notify("one");
    second.notify("two");
    const accepted = () => receiver.accepted.map(({ body }) => body.data["method"]);
    await setup.pass(50, () => accepted().length === 2);
    expect(accepted()).toEqual(["one", "two"]);
    receiver.answer(200);
    await setup.pass(secondMs, () => accepted().length === 4);
    expect(accepted().slice(2)).toEqual(["poison", "waits"]);
  });
});

describe("the secret of a webhook", () => {
  it("is not in the data folder", async () => {
    const setup = await Setup.open();
    const files = fs.readdirSync(setup.site.folder).map((name) => path.join(setup.site.folder, name));
    const contents = files.filter((file) => fs.statSync(file).isFile()).map((file) => fs.readFileSync(file));
    expect(contents.length).toBeGreaterThan(0);
    for (const content of contents) expect(content.includes(setup.secret.slice(6, 30))).toBe(false);
  });
});
