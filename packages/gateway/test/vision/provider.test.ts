/** The vision provider explains the photo, and the board gets a text that it can hold. */
import { describe, expect, it } from "vitest";
import { apiKey, explain, setUp, stopLater } from "./explained-site.ts";
import { says, startProvider } from "./fake-provider.ts";
import { firmwareForm } from "./form.ts";
import { jpeg, png } from "./pictures.ts";
import { startSite, wordsOf } from "./vision-site.ts";

describe("a provider", () => {
  it("gets one photo with its question, and its answer goes to the board", async () => {
    const { site, provider, token } = await setUp(says("A cat on a sofa. 一只猫。"));
    const answer = await site.upload(firmwareForm("Who is there?", jpeg(5_000)), { token });
    expect(wordsOf(answer)).toEqual({ success: true, result: "A cat on a sofa. 一只猫。" });
    const { url, headers, body } = await provider.asked.take();
    expect(url).toBe("/v1/chat/completions");
    expect(headers.authorization).toBe(`Bearer ${apiKey}`);
    expect(body).toEqual({
      model: "eye-1",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Who is there?" },
            {
              type: "image_url",
              image_url: { url: `data:image/jpeg;base64,${jpeg(5_000).toString("base64")}` },
            },
          ],
        },
      ],
    });
    expect(provider.asked.waiting).toEqual([]);
    expect(site.seen.waiting).toMatchObject([{ problem: undefined, bytes: 5_000 }]);
  });

  it("can be configured with its full address and a query", async () => {
    const { site, provider, token } = await setUp(says("ok"), "/chat/completions/?api-version=1");
    expect(wordsOf(await site.upload(firmwareForm("?", png()), { token })).result).toBe("ok");
    expect((await provider.asked.take()).url).toBe("/v1/chat/completions?api-version=1");
  });

  it("gets a default question if the board has none, and no key if none is configured", async () => {
    const provider = await startProvider(says("ok"));
    const site = stopLater(await startSite({ provider: { url: provider.url } }));
    stopLater(provider);
    await site.upload(firmwareForm("", jpeg()), { token: site.openTicket() });
    const { headers, body } = await provider.asked.take();
    expect(headers.authorization).toBeUndefined();
    expect(body.messages[0]?.content[0]).toEqual({ type: "text", text: expect.stringMatching(/\?$/) });
  });

  it("can answer in parts", async () => {
    const parts = [{ type: "text", text: "One." }, { type: "image" }, { type: "text", text: "Two." }];
    expect((await explain(says(parts))).words.result).toBe("One.\nTwo.");
  });

  it("has control characters removed from its answer", async () => {
    const { words } = await explain(says("a\u0000b\u001b[31mred\u0007\r\nnext\u009b\u007f \ud800 end\n\n"));
    expect(words.result).toBe("ab[31mred\nnext \ufffd end");
  });

  it.each([
    ["letters", "word ".repeat(10_000)],
    ["quotes", '"'.repeat(50_000)],
    ["backslashes", "\\".repeat(50_000)],
    ["lines", "\n.".repeat(50_000)],
    ["Chinese", "猫".repeat(20_000)],
    ["emoji", "👩‍👩‍👧".repeat(5_000)],
  ])("has its answer truncated for the board: %s", async (_name, text) => {
    const { words } = await explain(says(text));
    const result = words.result ?? "";
    expect(result.endsWith("…")).toBe(true);
    expect(result).not.toContain("\ufffd");
    expect(Buffer.from(result).toString()).toBe(result);
    expect(Buffer.byteLength(result)).toBeLessThanOrEqual(6_000);
    expect(Buffer.byteLength(result)).toBeGreaterThan(3_000);
  });
});
