/** MCP servers over HTTP that answer wrongly, too much or for ever. The gateway and its other devices go on. */
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../inbox.ts";
import { type Fields, textContent, tool } from "../raw-device.ts";
import { firstDevice, type Site } from "../site.ts";
import { online, siteWith, textOf } from "./servers.ts";

interface Asked {
  readonly id: unknown;
  readonly method: string;
  readonly params: Fields;
}

/** Answers a request; returns false to leave it to the ordinary answer. */
type Answer = (asked: Asked, response: http.ServerResponse) => boolean;

function send(response: http.ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

function events(response: http.ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
}

/** Half a megabyte of zeros in 500 bytes. */
const bomb = gzipSync(Buffer.alloc(512 * 1024));
const result = (id: unknown, value: unknown) => ({ jsonrpc: "2.0", id, result: value });
const said = (text: string) => ({ content: [{ type: "text", text }] });

async function hostile(answer: Answer): Promise<{ readonly url: string }> {
  const server = http.createServer((request, response) => {
    response.on("error", () => undefined);
    if (request.method !== "POST") {
      const asked = { id: undefined, method: `HTTP ${request.method ?? ""}`, params: {} };
      if (!answer(asked, response)) send(response, "", 405);
      return;
    }
    let text = "";
    request.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    request.on("end", () => {
      const { id, method, params = {} } = JSON.parse(text) as Asked;
      if (answer({ id, method, params }, response)) return;
      if (id === undefined) send(response, "", 202);
      else if (method === "initialize")
        send(
          response,
          result(id, {
            protocolVersion: "2025-06-18",
            capabilities: { tools: {} },
            serverInfo: { name: "hostile", version: "1" },
          }),
        );
      else if (method === "tools/list") send(response, result(id, { tools: [tool("echo")] }));
      else if (method === "tools/call") send(response, result(id, said("echo")));
      else if (method === "ping") send(response, result(id, {}));
      else send(response, { jsonrpc: "2.0", id, error: { code: -32601, message: "unknown" } });
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` };
}

/** Answers calls in this way, and everything else as usual. */
function calls(answer: (id: unknown, response: http.ServerResponse) => void): Answer {
  let first = true;
  return ({ id, method }, response) => {
    if (method !== "tools/call" || !first) return false;
    first = false;
    answer(id, response);
    return true;
  };
}

async function opened(answer: Answer): Promise<Site> {
  const site = await siteWith(await hostile(answer));
  await online(site);
  return site;
}

async function echoes(site: Site): Promise<void> {
  await until(async () => {
    const { status, body } = await site.call("lamp", "echo");
    return status === 200 && textOf(body) === "echo";
  }, "an ordinary answer");
}

describe("a hostile MCP server over HTTP", () => {
  it.each<[string, (id: unknown, response: http.ServerResponse) => void, Fields]>([
    [
      "the id of no request",
      (_id, response) => send(response, result(987_654, said("x"))),
      { code: "device_timeout" },
    ],
    ["an HTML page", (_id, response) => void response.end("<html>"), { code: "device_error" }],
    [
      "compressed data, although it did not ask for it",
      (_id, response) => {
        response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
        response.end(bomb);
      },
      { code: "device_error" },
    ],
    [
      "headers, and nothing more",
      (_id, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.flushHeaders();
      },
      { code: "device_timeout" },
    ],
    ["not even headers", () => undefined, { code: "device_timeout" }],
    [
      "an event without an end",
      (_id, response) => {
        events(response);
        const more = () => {
          while (response.write(`data: ${"x".repeat(64 * 1024)}`));
          response.once("drain", more);
        };
        more();
      },
      { code: "device_disconnected" },
    ],
  ])("[HTD-3] fails the call alone that it answers with %s", async (_name, answer, expected) => {
    const site = await opened(calls(answer));
    expect((await site.call("lamp", "echo", {}, { timeoutMs: 2_000 })).body).toMatchObject(expected);
    await echoes(site);
  });

  it("[HTD-3] gets one answer counted, of several", async () => {
    const site = await opened(
      calls((id, response) => {
        events(response);
        for (const text of ["one", "two", "three"])
          response.write(`data: ${JSON.stringify(result(id, said(text)))}\n\n`);
        response.end();
      }),
    );
    expect(textOf((await site.call("lamp", "echo")).body)).toBe("one");
    await echoes(site);
  });

  it("[HTD-3] may end its events at any byte", async () => {
    const site = await opened(
      calls((id, response) => {
        events(response);
        const log = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x" } };
        // Each event ends in the middle of what is written at once.
        const long = { ...log, params: { ...log.params, data: "x".repeat(8 * 1024) } };
        let rest = 200;
        const more = () => {
          response.write(`\ndata: ${JSON.stringify(long)}\n`, () => {
            rest -= 1;
            if (rest > 0) setImmediate(more);
            else response.end(`\ndata: ${JSON.stringify(result(id, said("last")))}\n\n`);
          });
        };
        more();
      }),
    );
    expect(textOf((await site.call("lamp", "echo")).body)).toBe("last");
  });

  it.each([
    ["comments", ": nothing\n\n"],
    ["empty lines", "\n\n\n\n"],
  ])("[HTD-3] is cut off if its stream floods the gateway with %s", async (_name, text) => {
    const flood = text.repeat(4_096);
    const server = await hostile(({ method }, response) => {
      if (method !== "HTTP GET") return false;
      events(response);
      const more = () => {
        while (!response.destroyed && response.write(flood));
        response.once("drain", more);
      };
      more();
      return true;
    });
    const site = await siteWith(server);
    const board = await site.join({ tools: [tool("a")] });
    await until(async () => {
      const { server: shown } = (await site.device("lamp")) as { server?: { problem: string | null } };
      return /^the server sends too many bytes$/.test(shown?.problem ?? "");
    }, "the end of the flood");
    const called = site.call(firstDevice, "a");
    board.reply((await board.nextRequest("tools/call")).id, textContent("b"));
    expect((await called).status).toBe(200);
  });

  it.each<[string, Answer, number]>([
    [
      "a hundred thousand tools on many pages",
      ({ id, method, params }, response) => {
        if (method !== "tools/list") return false;
        const page = Number(params["cursor"] ?? 0);
        const tools = Array.from({ length: 500 }, (_each, at) => tool(`t${page}_${at}`));
        send(response, result(id, { tools, ...(page < 200 ? { nextCursor: String(page + 1) } : {}) }));
        return true;
      },
      1_000,
    ],
    [
      "the same cursor again and again",
      ({ id, method }, response) => {
        if (method !== "tools/list") return false;
        send(response, result(id, { tools: [tool("echo")], nextCursor: "again" }));
        return true;
      },
      1,
    ],
    [
      "new cursors for ever",
      ({ id, method, params }, response) => {
        if (method !== "tools/list") return false;
        const page = Number(params["cursor"] ?? 0);
        send(response, result(id, { tools: [tool(`t${page}`)], nextCursor: String(page + 1) }));
        return true;
      },
      256,
    ],
  ])("[HTD-1] keeps a bounded part of a list with %s", async (_name, answer, count) => {
    const site = await opened(answer);
    expect(await site.device("lamp")).toMatchObject({ toolCount: count, toolsComplete: false });
  });

  it("[HTD-1] shows no tool of a page that is too large", async () => {
    const page = { tools: Array.from({ length: 100_000 }, (_each, at) => tool(`t${at}`)) };
    const text = JSON.stringify(page);
    const site = await opened(({ id, method }, response) => {
      if (method !== "tools/list") return false;
      send(response, `{"jsonrpc":"2.0","id":${String(id)},"result":${text}}`);
      return true;
    });
    expect(await site.device("lamp")).toMatchObject({ toolCount: 0, toolsComplete: false });
  });
});
