/** Commands send the tokens of a data folder only to the gateway of that folder. */
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it, onTestFinished } from "vitest";
import { PostgresServer } from "../../gateway/test/store/postgres-server.ts";
import { ownCommand } from "../src/own-command.ts";
import { bin, run, start, startServe, temporaryFolder } from "./run-tendon.ts";

const secret = "tdn_the-token-of-this-folder-alone";

/** A folder whose gateway has stopped: it has tokens, but no announced address. */
function stoppedFolder(): string {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  fs.mkdirSync(path.join(folder.path, "data"));
  for (const name of ["admin-token", "mcp-token"])
    fs.writeFileSync(path.join(folder.path, "data", name), `${secret}\n`, { mode: 0o600 });
  return folder.path;
}

/** A server that is not the folder's gateway. It records the headers it receives. */
async function otherServer(port = 0): Promise<{ url: string; received: http.IncomingHttpHeaders[] }> {
  const received: http.IncomingHttpHeaders[] = [];
  const server = http.createServer((request, response) => {
    received.push(request.headers);
    response.writeHead(401, { "content-type": "application/problem+json" });
    response.end(JSON.stringify({ status: 401, code: "unauthenticated", detail: "who are you?" }));
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

describe("a data folder without a running gateway", () => {
  it.each([
    [["devices"]],
    [["call", "desk", "self.get_device_status"]],
    [["token", "create", "agent"]],
    [["simulate", "esp32"]],
  ])("makes `tendon %s` fail with the folder's name, without a request", async (args) => {
    const cwd = stoppedFolder();
    const { code, stdout, stderr } = await run(args, { cwd });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("No gateway is running with the data folder ./data.");
    expect(stderr).toContain(`\`${ownCommand(cwd)} serve --data ./data\``);
    const named = await run([...args, "--data", path.join(cwd, "data")]);
    expect(named.stderr).toContain(`No gateway is running with the data folder ${path.join(cwd, "data")}.`);
    expect(stderr + named.stderr).not.toContain(secret);
  });

  it("sends its tokens to no other address", async () => {
    const cwd = stoppedFolder();
    const { url, received } = await otherServer();
    const flag = await run(["devices", "--url", url], { cwd });
    const variable = await run(["devices"], { cwd, env: { TENDON_URL: url } });
    await run(["doctor", "--url", url], { cwd });
    expect(flag.code).toBe(1);
    expect(flag.stderr).toContain("unauthenticated: who are you? Pass a token with --token or TENDON_TOKEN");
    expect(variable.stderr).toBe(flag.stderr);
    expect(received.length).toBeGreaterThanOrEqual(2);
    expect(JSON.stringify(received)).not.toContain("authorization");
  });

  it("sends a token from --token to the address from --url", async () => {
    const { url, received } = await otherServer();
    await run(["devices", "--url", url, "--token", "one-for-the-other-server"], { cwd: stoppedFolder() });
    expect(received.map(({ authorization }) => authorization)).toEqual(["Bearer one-for-the-other-server"]);
  });
});

describe("a data folder with a running gateway", () => {
  it("sends its token to that gateway only, however it is named", async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const cwd = folder.path;
    const { process: gateway, url } = await startServe(cwd);
    const { url: otherUrl, received } = await otherServer();
    expect((await run(["devices"], { cwd })).code).toBe(0);
    expect((await run(["devices", "--url", `${url}/`], { cwd })).code).toBe(0);
    expect((await run(["devices", "--url", otherUrl], { cwd })).code).toBe(1);
    expect(received).toHaveLength(1);
    expect(received[0]).not.toHaveProperty("authorization");
    await gateway.end();
    expect((await run(["devices"], { cwd })).stderr).toContain(
      "No gateway is running with the data folder ./data.",
    );
  });
});

describe("a data folder whose gateway was killed", () => {
  /** Its announced address is still in the folder, but another server uses that address now. */
  async function killedFolder() {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const { process: gateway, url } = await startServe(folder.path);
    await run(["doctor", "--create-token"], { cwd: folder.path });
    const kept = fs.readFileSync(path.join(folder.path, "data", "admin-token"), "utf8").trim();
    await gateway.end("SIGKILL");
    const announcement = path.join(folder.path, "data", "gateway.json");
    expect(JSON.parse(fs.readFileSync(announcement, "utf8"))).toMatchObject({ url, locked: true });
    expect(fs.existsSync(path.join(folder.path, "data", "mcp-token"))).toBe(true);
    const { received } = await otherServer(Number(new URL(url).port));
    return { cwd: folder.path, url, announcement, kept, received };
  }

  it("does not send its tokens to the server that has that address now, and reports that no gateway is running", async () => {
    const { cwd, received, kept } = await killedFolder();
    const commands = [
      ["devices"],
      ["call", "desk", "self.get_device_status"],
      ["token", "list"],
      ["watch"],
      ["console"],
    ];
    // All at once: the commands must not take one another's lock for the gateway's.
    const all = await Promise.all(commands.map((args) => run(args, { cwd })));
    for (const { code, stdout, stderr } of all) {
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toContain(
        `No gateway is running with the data folder ./data. Start one with \`${ownCommand(cwd)} serve`,
      );
      expect(stderr).not.toContain(kept);
    }
    const own = await run(["devices"], { cwd, env: { TENDON_TOKEN: "a-token-for-this-folder's-gateway" } });
    expect(own.stderr).toContain("No gateway is running with the data folder ./data.");
    await run(["doctor"], { cwd });
    expect(JSON.stringify(received)).not.toContain("authorization");
  });

  it("is not used when its lock is damaged or missing", async () => {
    const { cwd, received } = await killedFolder();
    const lock = path.join(cwd, "data", "gateway.lock");
    for (const damage of [() => fs.writeFileSync(lock, "x".repeat(5_000)), () => fs.rmSync(lock)]) {
      damage();
      expect((await run(["devices"], { cwd })).stderr).toContain(
        "No gateway is running with the data folder ./data.",
      );
    }
    expect(received).toEqual([]);
    expect(fs.existsSync(lock)).toBe(false);
  });

  it("sends a token to that address only when the user passes both", async () => {
    const { cwd, url, received } = await killedFolder();
    await run(["devices", "--url", url], { cwd });
    expect(JSON.stringify(received)).not.toContain("authorization");
    await run(["devices", "--url", url, "--token", "one-for-the-other-server"], { cwd });
    expect(received.at(-1)?.authorization).toBe("Bearer one-for-the-other-server");
  });

  it("makes `tendon mcp` and `tendon watch` wait for the next gateway", async () => {
    const { cwd, received } = await killedFolder();
    const client = new Client({ name: "desktop", version: "1" });
    onTestFinished(() => client.close());
    const connected = client.connect(
      new StdioClientTransport({ command: process.execPath, args: [bin, "mcp"], cwd }),
    );
    const { process: next, url } = await startServe(cwd);
    await connected;
    expect((await client.callTool({ name: "devices_list", arguments: {} })).isError).toBeFalsy();
    const watching = start(["watch"], { cwd });
    await watching.until("stderr", /^watching;/m);
    const board = start(["simulate", "esp32"], { cwd });
    await watching.until("stdout", /device\.online/);
    await board.end();
    await next.end("SIGKILL");
    const second = await otherServer(Number(new URL(url).port));
    await watching.until("stderr", /retrying in 1 s/);
    await watching.end();
    expect(JSON.stringify([...received, ...second.received])).not.toContain("authorization");
  });

  it("keeps its tokens when the storage is PostgreSQL", async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const cwd = folder.path;
    const postgres = await PostgresServer.start();
    onTestFinished(() => postgres.remove());
    const storage = { TENDON_STORAGE: await postgres.newDatabase() };
    const first = await startServe(cwd, [], storage);
    expect((await run(["devices"], { cwd })).code).toBe(0);
    // A second gateway is refused, and leaves the announcement of the first alone.
    await expect(startServe(cwd, [], storage)).rejects.toThrow("is already used by process");
    const announced = JSON.parse(fs.readFileSync(path.join(cwd, "data", "gateway.json"), "utf8")) as object;
    expect(announced).toMatchObject({ url: first.url, locked: true });
    expect((await run(["devices"], { cwd })).code).toBe(0);
    await first.process.end();
    const third = await startServe(cwd, [], storage);
    await third.process.end("SIGKILL");
    const { received } = await otherServer(Number(new URL(third.url).port));
    expect((await run(["devices"], { cwd })).stderr).toContain(
      "No gateway is running with the data folder ./data.",
    );
    expect(received).toEqual([]);
  });

  it("uses the announced address when the gateway could not hold a lock", async () => {
    const { cwd, url, announcement, received, kept } = await killedFolder();
    fs.writeFileSync(announcement, JSON.stringify({ url, locked: false }));
    await run(["devices"], { cwd });
    expect(received.map(({ authorization }) => authorization)).toEqual([`Bearer ${kept}`]);
  });
});
