/** Refusals that no route gives: each is a problem document with a code, like all others. */
import { expect, it } from "vitest";
import { exchange } from "./fuzz/entry/http.ts";
import { asObject } from "./http-client.ts";
import { modern, openSession, say } from "./mcp/rpc.ts";
import { openSite } from "./site.ts";

const answerMs = 10_000;
const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";

it.each([
  ["no HTTP", "\u0000\u0001\u0002\r\n\r\n", 400, "bad_request"],
  [
    "headers that are too large",
    `GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
    431,
    "payload_too_large",
  ],
  ["no Host header", "GET /api/v1/devices HTTP/1.1\r\n\r\n", 400, "bad_request"],
  [
    "an unknown expectation",
    "GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\n\r\n",
    417,
    "bad_request",
  ],
  [
    "an invalid device handshake",
    `GET /xiaozhi/v1/ HTTP/1.1\r\nHost: a\r\nDevice-Id: a\r\n${upgrade}\r\n`,
    400,
    "bad_request",
  ],
  ["an invalid MQTT handshake", `GET /mqtt HTTP/1.1\r\nHost: a\r\n${upgrade}\r\n`, 400, "bad_request"],
  ["an upgrade elsewhere", `GET /api/v1/devices HTTP/1.1\r\nHost: a\r\n${upgrade}\r\n`, 404, "not_found"],
  [
    "a path that leaves its folder",
    "GET /docs/static/../x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    404,
    "not_found",
  ],
  [
    "an encoded path that leaves its folder",
    "GET /docs/static/%2e%2e%2fx HTTP/1.1\r\nHost: localhost\r\n\r\n",
    404,
    "not_found",
  ],
])("%s is refused with a code", async (_name, request, status, code) => {
  const site = await openSite();
  const text = (await exchange(Number(new URL(site.url).port), Buffer.from(request), answerMs)).toString();
  expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(text.toLowerCase()).toContain("content-type: application/problem+json");
  expect(asObject(text.slice(text.indexOf("\r\n\r\n")))).toMatchObject({ status, code });
});

it("parameters of a wrong type are invalid params, in both eras of MCP", async () => {
  const site = await openSite();
  const session = await openSession(site);
  const body = { jsonrpc: "2.0", id: 2, method: "tools/list", params: { cursor: 7 } };
  const answers = [
    await say(site, { headers: { "mcp-session-id": session }, body }),
    await say(site, modern("tools/list", { cursor: 7 })),
  ];
  for (const { text } of answers) expect(text).toContain('"code":-32602');
});
