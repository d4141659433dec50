/** Commands against something that is no gateway, and against a gateway that goes away in the middle. */
import { once } from "node:events";
import net from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fetchFrom, type Patience, unanswered } from "../src/gateway-fetch.ts";
import { whyNoAnswer } from "../src/no-answer.ts";
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

/** Something that listens on a free port and does this with whoever comes. */
async function listen(treat: (socket: net.Socket) => void): Promise<string> {
  const server = net.createServer((socket) => {
    socket.on("error", () => undefined);
    treat(socket);
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

describe("what listens and is no gateway", () => {
  it.each(commands)("is told in a sentence when it closes every connection: %s %s %s", async (...words) => {
    const given = words.filter((word) => word !== undefined);
    const port = await listen((socket) => socket.destroy());
    const url = `http://127.0.0.1:${port}`;
    const { code, stdout, stderr } = await run([...given, "--url", url, ...token], { cwd: folder.path });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(`tendon: What listens at ${url} closes the connection without an answer`);
    expect(stderr).not.toContain("https://");
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it("is told when it takes the request first, or speaks another language, or TLS was asked for", async () => {
    const cwd = folder.path;
    const reading = await listen((socket) => socket.once("data", () => socket.destroy()));
    const closed = await run(["devices", "--url", `http://127.0.0.1:${reading}`, ...token], { cwd });
    expect([closed.code, closed.stderr]).toEqual([1, expect.stringContaining("without an answer")]);
    const mail = await listen((socket) => socket.write("220 mail.example ready\r\n"));
    const strange = await run(["devices", "--url", `http://127.0.0.1:${mail}`, ...token], { cwd });
    expect([strange.code, strange.stderr]).toEqual([1, expect.stringContaining("is no gateway")]);
    const cutting = await listen((socket) => socket.destroy());
    const secure = await run(["devices", "--url", `https://127.0.0.1:${cutting}`, ...token], { cwd });
    expect([secure.code, secure.stderr]).toEqual([1, expect.stringContaining("without an answer")]);
  });

  it("has the port that doctor names, or the address that doctor was given", async () => {
    const port = await listen((socket) => socket.destroy());
    const env = { TENDON_HTTP_PORT: port, TENDON_MQTT_PORT: "0" };
    const taken = await run(["doctor"], { cwd: folder.path, env });
    expect(taken.code).toBe(1);
    expect(taken.stdout).toMatch(
      new RegExp(`FAIL {2}port +127\\.0\\.0\\.1:${port} is taken by another program`),
    );
    expect(taken.stdout).toContain("which is no gateway");
    const url = `http://127.0.0.1:${port}`;
    const named = await run(["doctor", "--url", url, ...token], { cwd: folder.path });
    expect(named.code).toBe(1);
    expect(named.stdout).toMatch(new RegExp(`FAIL {2}gateway +what listens at ${url} is no gateway`));
  });

  it("an answer that breaks off is no bug of ours", async () => {
    const port = await listen((socket) =>
      socket.once("data", () => {
        socket.end("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{");
      }),
    );
    const broken = await run(["devices", "--url", `http://127.0.0.1:${port}`, ...token], {
      cwd: folder.path,
    });
    expect([broken.code, broken.stdout]).toEqual([1, ""]);
    expect(broken.stderr).toContain("went away");
    expect(broken.stderr).not.toContain("bug");
  });

  it("an answer that is no JSON is told as that", async () => {
    const port = await listen((socket) =>
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n<html")),
    );
    const page = await run(["devices", "--url", `http://127.0.0.1:${port}`, ...token], { cwd: folder.path });
    expect([page.code, page.stdout]).toEqual([1, ""]);
    expect(page.stderr).toContain("is no gateway");
  });

  it("whatever never comes to an end is told, never passed over in silence", async () => {
    const never =
      "import http from 'node:http'; http.request = () => ({ once() {}, setTimeout() {}, end() {} }); globalThis.setTimeout = () => 0;";
    const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(never)}` };
    const args = ["devices", "--url", "http://127.0.0.1:9", ...token];
    const { code, stderr } = await run(args, { cwd: folder.path, env });
    expect(code).toBe(1);
    expect(stderr).toContain("tendon: this is a bug, please report it:");
  });
});

describe("a request", () => {
  const ask = (url: string, patience: Patience) => fetchFrom({ certificate: undefined }, patience)(url);

  it("has an end where a connection is taken and nothing is ever said", async () => {
    const port = await listen(() => undefined);
    const silent = ask(`http://127.0.0.1:${port}/readyz`, { connectMs: 10_000, answerMs: 50 });
    await expect(silent).rejects.toMatchObject({ code: unanswered });
    const unsaid = ask(`https://127.0.0.1:${port}/readyz`, { connectMs: 50, answerMs: 10_000 });
    await expect(unsaid).rejects.toMatchObject({ code: "ETIMEDOUT" });
  });

  it("is told apart from one that nobody took", async () => {
    const target = { ...nowhere, url: "http://127.0.0.1:9" };
    const error = Object.assign(new Error("no answer"), { code: unanswered });
    const call = { method: "POST", path: "/devices/a/tools/b/call", error, begun: false };
    expect((await whyNoAnswer(target, call)).message).toBe(
      "What listens at http://127.0.0.1:9 took the request and never answered. It is not known what came of it: the call may have been carried out.",
    );
  });

  it("that broke off is looked into until a dying gateway's port is closed, though it still takes connections", async () => {
    let taken = 0;
    const port = await listen((socket) => {
      taken += 1;
      socket.destroy();
      if (taken === 3) for (const server of servers) server.close();
    });
    const error = Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
    const call = { method: "POST", path: "/devices/a/tools/b/call", error, begun: false };
    const why = await whyNoAnswer({ ...nowhere, url: `http://127.0.0.1:${port}` }, call);
    expect(why.message).toMatch(/^device_disconnected: The gateway at .+ went away before it answered\./);
    expect(taken).toBe(3);
  });

  it("lets a stream be silent once it has begun", async () => {
    const port = await listen((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
      setTimeout(() => socket.end("2\r\nhi\r\n0\r\n\r\n"), 1_500);
    });
    const answer = await ask(`http://127.0.0.1:${port}/events`, { connectMs: 10_000, answerMs: 1_000 });
    expect(await answer.text()).toBe("hi");
  });
});

describe("a gateway that is killed while a call is under way", () => {
  it("is said to have gone, with the code of a call that may have run, and nothing about https", async () => {
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
    const told = await call.finished();
    expect([told.code, told.stdout]).toEqual([1, ""]);
    expect(told.stderr).toBe(
      `tendon: device_disconnected: The gateway at ${url} went away before it answered. The call may have been carried out.\n`,
    );
    const { code, stdout } = await calledAsJson.finished();
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ code: "device_disconnected", status: 502, sent: true });
    await slow.end("SIGKILL");
  });
});
