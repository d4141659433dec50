/** Commands against a server that is not a gateway, and against a gateway that ends during a request. */
import { once } from "node:events";
import net from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { explainNoAnswer } from "../src/connection-failure.ts";
import { fetchFrom, type Timeouts, unanswered } from "../src/gateway-fetch.ts";
import { run, start, startServe, temporaryFolder } from "./run-tendon.ts";

let folder: ReturnType<typeof temporaryFolder>;
const servers: net.Server[] = [];
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  folder.remove();
});

/** A server on a free port that passes each connection to `handle`. */
async function listen(handle: (socket: net.Socket) => void): Promise<string> {
  const server = net.createServer((socket) => {
    socket.on("error", () => undefined);
    handle(socket);
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return String((server.address() as net.AddressInfo).port);
}

const nowhere = {
  token: undefined,
  dataFolder: "",
  own: false,
  certificate: undefined,
  settings: undefined,
};
const token = ["--token", "sixteen-letters-0"];
const commands = [
  ["devices"],
  ["call", "lamp", "self.get_device_status"],
  ["calls"],
  ["watch"],
  ["console"],
  ["token", "list"],
  ["token", "revoke", "tok_1"],
  ["nodes"],
];

describe("a server that is not a gateway", () => {
  it.each(commands)(
    "is reported in one sentence when it closes every connection: %s %s %s",
    async (...words) => {
      const given = words.filter((word) => word !== undefined);
      const port = await listen((socket) => socket.destroy());
      const url = `http://127.0.0.1:${port}`;
      const { code, stdout, stderr } = await run([...given, "--url", url, ...token], { cwd: folder.path });
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toContain(`tendon: The server at ${url} closes the connection without an answer`);
      expect(stderr).not.toContain("https://");
      expect(stderr).not.toMatch(/\n\s+at /);
    },
  );

  it("is reported when it closes after the request, speaks another protocol, or closes a TLS connection", async () => {
    const cwd = folder.path;
    const reading = await listen((socket) => socket.once("data", () => socket.destroy()));
    const closed = await run(["devices", "--url", `http://127.0.0.1:${reading}`, ...token], { cwd });
    expect([closed.code, closed.stderr]).toEqual([1, expect.stringContaining("without an answer")]);
    const mail = await listen((socket) => socket.write("220 mail.example ready\r\n"));
    const strange = await run(["devices", "--url", `http://127.0.0.1:${mail}`, ...token], { cwd });
    expect([strange.code, strange.stderr]).toEqual([1, expect.stringContaining("is not a gateway")]);
    const cutting = await listen((socket) => socket.destroy());
    const secure = await run(["devices", "--url", `https://127.0.0.1:${cutting}`, ...token], { cwd });
    expect([secure.code, secure.stderr]).toEqual([1, expect.stringContaining("without an answer")]);
  });

  it("is reported by doctor at the gateway's port and at --url", async () => {
    const port = await listen((socket) => socket.destroy());
    const env = { TENDON_HTTP_PORT: port, TENDON_MQTT_PORT: "0" };
    const taken = await run(["doctor"], { cwd: folder.path, env });
    expect(taken.code).toBe(1);
    expect(taken.stdout).toMatch(
      new RegExp(`FAIL {2}port +127\\.0\\.0\\.1:${port} is in use by another program`),
    );
    expect(taken.stdout).toContain("that is not a Tendon gateway");
    const url = `http://127.0.0.1:${port}`;
    const named = await run(["doctor", "--url", url, ...token], { cwd: folder.path });
    expect(named.code).toBe(1);
    expect(named.stdout).toMatch(new RegExp(`FAIL {2}gateway +the server at ${url} is not a Tendon gateway`));
  });

  it("is reported as a lost connection when its answer breaks off", async () => {
    const port = await listen((socket) =>
      socket.once("data", () => {
        socket.end("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{");
      }),
    );
    const broken = await run(["devices", "--url", `http://127.0.0.1:${port}`, ...token], {
      cwd: folder.path,
    });
    expect([broken.code, broken.stdout]).toEqual([1, ""]);
    expect(broken.stderr).toContain("was lost before it answered");
    expect(broken.stderr).not.toContain("bug");
  });

  it("is reported when its answer is not JSON", async () => {
    const port = await listen((socket) =>
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n<html")),
    );
    const page = await run(["devices", "--url", `http://127.0.0.1:${port}`, ...token], { cwd: folder.path });
    expect([page.code, page.stdout]).toEqual([1, ""]);
    expect(page.stderr).toContain("is not a Tendon gateway: its reply is not JSON");
  });

  it("never makes a command end without a message", async () => {
    const never =
      "import http from 'node:http'; http.request = () => ({ once() {}, setTimeout() {}, end() {} }); globalThis.setTimeout = () => 0;";
    const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(never)}` };
    const args = ["devices", "--url", "http://127.0.0.1:9", ...token];
    const { code, stderr } = await run(args, { cwd: folder.path, env });
    expect(code).toBe(1);
    expect(stderr).toContain("tendon: unexpected error. This is a bug, please report it:");
  });
});

describe("a request", () => {
  const ask = (url: string, timeouts: Timeouts) => fetchFrom({ certificate: undefined }, timeouts)(url);

  it("times out when the server accepts the connection and never answers", async () => {
    const port = await listen(() => undefined);
    const silent = ask(`http://127.0.0.1:${port}/readyz`, { connectMs: 10_000, answerMs: 50 });
    await expect(silent).rejects.toMatchObject({ code: unanswered });
    const unsaid = ask(`https://127.0.0.1:${port}/readyz`, { connectMs: 50, answerMs: 10_000 });
    await expect(unsaid).rejects.toMatchObject({ code: "ETIMEDOUT" });
  });

  it("reports that the call may have been carried out when the server accepted it", async () => {
    const target = { ...nowhere, url: "http://127.0.0.1:9" };
    const error = Object.assign(new Error("no answer"), { code: unanswered });
    const call = { method: "POST", path: "/devices/a/tools/b/call", error, begun: false };
    expect((await explainNoAnswer(target, call)).message).toBe(
      "The server at http://127.0.0.1:9 accepted the request and did not answer in time. The result is unknown: the call may have been carried out.",
    );
  });

  it("reports a lost connection when an ending gateway still accepts connections for a moment", async () => {
    let taken = 0;
    const port = await listen((socket) => {
      taken += 1;
      socket.destroy();
      if (taken === 3) for (const server of servers) server.close();
    });
    const error = Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
    const call = { method: "POST", path: "/devices/a/tools/b/call", error, begun: false };
    const why = await explainNoAnswer({ ...nowhere, url: `http://127.0.0.1:${port}` }, call);
    expect(why.message).toMatch(
      /^device_disconnected: The connection to the gateway at .+ was lost before it answered\./,
    );
    expect(taken).toBe(3);
  });

  it("does not time out an idle stream that has begun", async () => {
    const port = await listen((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
      setTimeout(() => socket.end("2\r\nhi\r\n0\r\n\r\n"), 1_500);
    });
    const answer = await ask(`http://127.0.0.1:${port}/events`, { connectMs: 10_000, answerMs: 1_000 });
    expect(await answer.text()).toBe("hi");
  });
});

describe("a gateway that is killed during a call", () => {
  it("is reported as device_disconnected with sent: true", async () => {
    const cwd = folder.path;
    const { process: gateway, url } = await startServe(cwd);
    const ids = ["02:00:00:00:77:01", "02:00:00:00:77:02"] as const;
    const slow = start(["simulate", "esp32", "--fault", "late-reply=60000", "--count", "2", "--id", ids[0]], {
      cwd,
    });
    await slow.until("stderr", /2 of 2 connected/);
    const calling = (id: string) => ["call", id, "self.get_device_status", "--timeout", "1m"];
    const call = start(calling(ids[0]), { cwd });
    const calledAsJson = start([...calling(ids[1]), "--json"], { cwd });
    for (const id of ids) await slow.until("stdout", new RegExp(`${id} +call self`));
    await gateway.end("SIGKILL");
    const failed = await call.finished();
    expect([failed.code, failed.stdout]).toEqual([1, ""]);
    expect(failed.stderr).toBe(
      `tendon: device_disconnected: The connection to the gateway at ${url} was lost before it answered. The call may have been carried out.\n`,
    );
    const { code, stdout } = await calledAsJson.finished();
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ code: "device_disconnected", status: 502, sent: true });
    await slow.end("SIGKILL");
  });
});
