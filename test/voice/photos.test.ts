import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../inbox.ts";
import { boardId, openUpstream, openVoiceSite, webSocketBoard } from "./voice-site.ts";

const photo = "self.camera.take_photo";

/** Another vision server, which records the received tokens. */
async function visionServer(): Promise<{ readonly url: string; readonly tokens: (string | undefined)[] }> {
  const tokens: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      tokens.push(request.headers.authorization);
      response.writeHead(200).end('{"success":true,"result":"a cat, says the voice server"}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/explain`, tokens };
}

async function talkingCamera(vision?: "upstream" | "here") {
  const eye = await visionServer();
  const capabilities = { vision: { url: eye.url, token: "the-eye" } };
  const upstream = await openUpstream({ script: { capabilities } });
  const settings = { url: upstream.server.url, ...(vision === undefined ? {} : { vision }) };
  const site = await openVoiceSite([settings]);
  const device = webSocketBoard(site);
  await device.connect();
  const connection = await upstream.connections.take();
  await until(() => connection.mcp.tools.length > 0, "the list");
  return { eye, site, connection };
}

function texts(result: unknown): string[] {
  return (result as { content: { type: string; text?: string }[] }).content.map(
    ({ type, text }) => text ?? type,
  );
}

describe("photos for a voice server", () => {
  it("[VOI-7] are uploaded to its own vision address, unlike an agent's", async () => {
    const { eye, site, connection } = await talkingCamera();
    const asked = await connection.mcp.call(photo, { question: "What is this?" });
    expect(texts(asked.result)).toEqual(['{"success":true,"result":"a cat, says the voice server"}']);
    expect(eye.tokens).toEqual(["Bearer the-eye"]);
    const { body } = await site.call(boardId, photo, { question: "And this?" });
    expect(texts(body["result"])).toContain("image");
    expect(eye.tokens.length).toBe(1);
    await connection.mcp.call(photo, { question: "And now?" });
    expect(eye.tokens.length).toBe(2);
  });

  it("[VOI-7] stay at the gateway if configured, and the server gets the explanation", async () => {
    const { eye, connection } = await talkingCamera("here");
    const asked = await connection.mcp.call(photo, { question: "What is this?" });
    expect(asked.error).toBeUndefined();
    expect(texts(asked.result)).not.toContain("image");
    expect(eye.tokens).toEqual([]);
  });
});
