import { describe, expect, it } from "vitest";
import { ManualClock } from "../manual-clock.ts";
import { textContent, tool } from "../raw-device.ts";
import { openSite } from "../site.ts";
import { eras, openAgent, textOf } from "./agent.ts";
import { listen, messagesOf, modern, openSession, say } from "./rpc.ts";

const slow = tool("slow");
const gone = { name: "device_call", arguments: { device: "02:00:00:00:00:01", tool: "slow" } };

describe("[SRV-7] a cancelled call frees its device at once", () => {
  it.each(eras)("when the official client of the %s era cancels it", async (era) => {
    const site = await openSite();
    const device = await site.join({ tools: [slow, tool("next")] });
    const agent = await openAgent(site, era);
    const stop = new AbortController();
    const call = agent.callTool(gone, { signal: stop.signal });
    await device.nextRequest("tools/call");
    stop.abort("changed my mind");
    await expect(call).rejects.toThrow("changed my mind");
    const next = agent.callTool({ name: "device_call", arguments: { device: device.id, tool: "next" } });
    const request = await device.nextRequest("tools/call");
    expect(request.params["name"]).toBe("next");
    device.reply(request.id, textContent("done"));
    expect(textOf(await next)).toBe("done");
  });

  it.each(eras)("when the waiting connection of the %s era is lost", async (era) => {
    const site = await openSite();
    const device = await site.join({ tools: [slow, tool("next")] });
    const stop = new AbortController();
    const legacy = { headers: { "mcp-session-id": era === "legacy" ? await openSession(site) : "" } };
    const body = { jsonrpc: "2.0", id: 5, method: "tools/call", params: gone };
    const said = era === "legacy" ? { ...legacy, body } : modern("tools/call", gone);
    const waiting = listen(site, { ...said, signal: stop.signal }).catch(() => undefined);
    await device.nextRequest("tools/call");
    const events = await site.events("?type=call.finished");
    stop.abort();
    const stream = await waiting;
    stream?.destroy();
    expect((await events.next()).data).toMatchObject({ tool: "slow", outcome: "cancelled" });
    const next = site.call(device.id, "next");
    const request = await device.nextRequest("tools/call");
    expect(request.params["name"]).toBe("next");
    device.reply(request.id, textContent("done"));
    expect((await next).status).toBe(200);
  });

  it("when its session is ended", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [slow] });
    const headers = { "mcp-session-id": await openSession(site) };
    const body = { jsonrpc: "2.0", id: 5, method: "tools/call", params: gone };
    const cut = expect(listen(site, { headers, body })).rejects.toThrow();
    await device.nextRequest("tools/call");
    const events = await site.events("?type=call.finished");
    await say(site, { method: "DELETE", headers });
    expect((await events.next()).data).toMatchObject({ tool: "slow", outcome: "cancelled" });
    await cut;
  });

  it("and the stream of a cancelled call in a session ends too", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [slow] });
    const headers = { "mcp-session-id": await openSession(site) };
    const body = { jsonrpc: "2.0", id: 5, method: "tools/call", params: gone };
    const waiting = say(site, { headers, body });
    await device.nextRequest("tools/call");
    await say(site, {
      headers,
      body: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 5 } },
    });
    expect((await waiting).text).toBe("");
    expect(await device.quiet()).toEqual([]);
  });
});

describe("a long call in a session", () => {
  it("is answered on a stream with keep-alives", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const device = await site.join({ tools: [slow] });
    const headers = { "mcp-session-id": await openSession(site) };
    const body = { jsonrpc: "2.0", id: 5, method: "tools/call", params: gone };
    const waiting = listen(site, { headers, body });
    const request = await device.nextRequest("tools/call");
    clock.advance(15_000);
    const stream = await waiting;
    expect(stream.headers["content-type"]).toBe("text/event-stream");
    clock.advance(5_000);
    device.reply(request.id, textContent("at last"));
    let text = "";
    for await (const chunk of stream) text += String(chunk);
    expect(messagesOf(text)).toMatchObject([{ id: 5, result: { content: [{ text: "at last" }] } }]);
  });
});
