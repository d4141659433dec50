/** Failures of the vision provider; the photo still reaches its call. */
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../../test/manual-clock.ts";
import { VisionProvider } from "../../src/vision/vision.ts";
import { apiKey, explain, setUp, stopLater } from "./explained-site.ts";
import { says, startProvider } from "./fake-provider.ts";
import { firmwareForm } from "./form.ts";
import { jpeg } from "./pictures.ts";
import { startSite, wordsOf } from "./vision-site.ts";

const explainMs = 25_000;

const answering = (status: number, body: string) => (response: ServerResponse) => {
  response.writeHead(status, { "content-type": "application/json", location: "http://127.0.0.1:1/" });
  response.end(body);
};

describe("a provider", () => {
  it("that never answers times out before the board does", async () => {
    const { site, provider, token } = await setUp(() => undefined);
    const answer = site.upload(firmwareForm("?", jpeg()), { token });
    const { gone } = await provider.asked.take();
    await site.clock.running(explainMs);
    site.clock.advance(explainMs);
    expect(wordsOf(await answer)).toEqual({ success: false, message: expect.stringContaining("in time") });
    expect(site.photos.pictureOf(token)).toBeDefined();
    expect(site.seen.waiting).toMatchObject([{ problem: "provider_slow", explainMs }]);
    await gone;
  });

  it("that never finishes its answer times out too", async () => {
    let begun: (() => void) | undefined;
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const { site, token } = await setUp((response) => {
      response.writeHead(200);
      response.write('{"choices":', () => begun?.());
    });
    const answer = site.upload(firmwareForm("?", jpeg()), { token });
    await started;
    site.clock.advance(explainMs);
    expect(wordsOf(await answer).message).toContain("in time");
  });

  it("is cancelled when the call has ended or the board has disconnected", async () => {
    const { site, provider, token } = await setUp(() => undefined);
    const answer = site.upload(firmwareForm("?", jpeg()), { token });
    const first = await provider.asked.take();
    site.photos.closeTicket(token);
    expect(wordsOf(await answer).success).toBe(false);
    await first.gone;
    const { request } = site.begin({ token: site.openTicket() });
    for (const chunk of firmwareForm("?", jpeg())) request.write(chunk);
    request.end();
    const second = await provider.asked.take();
    request.destroy();
    await second.gone;
  });

  it.each([
    [
      "401, with the key in its words",
      answering(401, `{"error":{"message":"bad key ${apiKey}"}}`),
      "provider_refused",
    ],
    ["429", answering(429, "{}"), "provider_refused"],
    ["500", answering(500, "<html>oops</html>"), "provider_refused"],
    ["204", answering(204, ""), "provider_refused"],
    ["another address", answering(302, ""), "provider_refused"],
    ["no JSON", answering(200, "hello"), "provider_unreadable"],
    ["nothing", answering(200, ""), "provider_unreadable"],
    ["null", answering(200, "null"), "provider_unreadable"],
    ["no choices", answering(200, '{"choices":[]}'), "provider_unreadable"],
    ["an odd choice", answering(200, '{"choices":[{"message":7}]}'), "provider_unreadable"],
    ["no words", says(null), "provider_unreadable"],
    ["empty words", says(" \n\u0000"), "provider_unreadable"],
    ["too much", says("x".repeat(300_000)), "provider_unreadable"],
    ["a closed door", (response: ServerResponse) => response.destroy(), "provider_unreachable"],
  ])("that answers with %s affects only the explanation", async (_name, answer, code) => {
    const { words, problem } = await explain(answer);
    expect(words).toEqual({ success: false, message: expect.stringContaining("is delivered to the caller") });
    expect(problem).toBe(code);
  });

  it("with an endless answer is disconnected", async () => {
    const { words } = await explain((response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(10_000)));
      };
      response.on("drain", more);
      more();
    });
    expect(words.success).toBe(false);
  });

  it("that is unreachable affects only the explanation", async () => {
    const provider = await startProvider(says("ok"));
    await provider.stop();
    const site = stopLater(await startSite({ provider: { url: provider.url } }));
    const token = site.openTicket();
    const words = wordsOf(await site.upload(firmwareForm("?", jpeg()), { token }));
    expect(words.message).toContain("cannot be reached");
    expect(site.photos.pictureOf(token)).toBeDefined();
  });

  it.each([
    ["an address that is none", { url: "somewhere", model: "m" }],
    ["another protocol", { url: "ftp://127.0.0.1/", model: "m" }],
    ["a key in the address", { url: `http://user:${apiKey}@127.0.0.1/v1`, model: "m" }],
    ["a key with a line end in it", { url: "http://127.0.0.1/v1", model: "m", apiKey: `${apiKey}\nx: y` }],
  ])("is rejected at the start with %s, without revealing the key", (_name, settings) => {
    const make = () => new VisionProvider(settings, new ManualClock());
    expect(make).toThrow(expect.objectContaining({ name: "StartError" }));
    expect(make).not.toThrow(apiKey);
  });
});
