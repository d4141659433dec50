import http from "node:http";
import type { AddressInfo } from "node:net";
import { VirtualDevice, type VirtualDeviceOptions } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "./inbox.ts";
import { openSite, type Site, type SiteOptions } from "./site.ts";

const photo = "self.camera.take_photo";
const mac = "02:00:00:00:00:07";
const clientId = "77777777-7777-4777-8777-777777777777";

interface Result {
  readonly content: readonly { readonly type: string; readonly text?: string; readonly data?: string }[];
}

async function board(site: Site, over: "websocket" | "mqtt"): Promise<void> {
  const { websocket, mqtt } = site.tendon.provision(mac, clientId);
  const way: VirtualDeviceOptions =
    over === "mqtt" ? { mqtt } : { url: websocket.url, token: websocket.token };
  const device = new VirtualDevice({ board: { mac, clientId, name: "camera-board" }, ...way });
  onTestFinished(() => device.stop());
  await device.connect();
  await until(async () => (await site.device(mac))["toolsComplete"] === true, "the camera's tools");
}

async function take(site: Site, question: string): Promise<Result> {
  const { status, body } = await site.call(mac, photo, { question });
  expect(status).toBe(200);
  return body["result"] as unknown as Result;
}

/** A provider that repeats the question as its explanation. */
async function provider(): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = http.createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    request.on("end", () => {
      const question = /"text":"([^"]*)"/.exec(text)?.[1] ?? "";
      asked.push(question);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ choices: [{ message: { content: `seen: ${question}` } }] }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions`, asked };
}

describe.each(["websocket", "mqtt"] as const)("a photo over %s", (over) => {
  it("[CAM-1] is returned as an image, with a note that no provider explains it", async () => {
    const site = await openSite();
    await board(site, over);
    const { content } = await take(site, "What is this?");
    expect(content.map(({ type }) => type)).toEqual(["text", "image"]);
    expect(JSON.parse(content[0]?.text ?? "")).toMatchObject({ success: true });
    expect(Buffer.from(content[1]?.data ?? "", "base64").subarray(0, 3)).toEqual(
      Buffer.from([0xff, 0xd8, 0xff]),
    );
    expect(await site.metric('tendon_photos_total{outcome="ok"}')).toBe(1);
  });

  it("[CAM-2] is explained by a configured provider, each call with its own question", async () => {
    const { url, asked } = await provider();
    const config: SiteOptions["config"] = { vision: { provider: { url, model: "eye" } } };
    const site = await openSite({ config });
    await board(site, over);
    const results = await Promise.all(["one", "two", "three"].map((question) => take(site, question)));
    const texts = results.map(
      ({ content }) => (JSON.parse(content[0]?.text ?? "") as { result: string }).result,
    );
    expect(texts).toEqual(["seen: one", "seen: two", "seen: three"]);
    expect(asked).toEqual(["one", "two", "three"]);
  });
});

describe("the upload address", () => {
  it("[CAM-1] accepts nothing without a ticket", async () => {
    const site = await openSite();
    const answer = await fetch(`${site.url}/vision/explain`, {
      method: "POST",
      headers: { "device-id": mac, "content-type": "multipart/form-data; boundary=x" },
      body: "--x--",
    });
    expect(answer.status).toBe(401);
  });

  it("[CAM-3] is omitted when the operator configures another vision server", async () => {
    const { url } = await provider();
    const capabilities = { vision: { url, token: "theirs" } };
    const site = await openSite({ config: { devices: { capabilities } } });
    await board(site, "websocket");
    const { content } = await take(site, "What is this?");
    expect(content.map(({ type }) => type)).toEqual(["text"]);
    expect(content[0]?.text).toContain("seen");
  });
});
