/** To whom commands show what a data folder keeps secret: to the gateway of that folder, and to nobody else. */
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it, onTestFinished } from "vitest";
import { PostgresServer } from "../../gateway/test/store/postgres-server.ts";
import { bin, run, start, startServe, temporaryFolder } from "./run-tendon.ts";

const secret = "tdn_the-token-of-this-folder-alone";

/** A folder whose gateway has stopped: its tokens are there, and no word where it listens. */
function stoppedFolder(): string {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  fs.mkdirSync(path.join(folder.path, "data"));
  for (const name of ["admin-token", "mcp-token"])
    fs.writeFileSync(path.join(folder.path, "data", name), `${secret}\n`, { mode: 0o600 });
  return folder.path;
}

/** Somebody else's server, which remembers what it was told. */
async function stranger(port = 0): Promise<{ url: string; heard: http.IncomingHttpHeaders[] }> {
  const heard: http.IncomingHttpHeaders[] = [];
  const server = http.createServer((request, response) => {
    heard.push(request.headers);
    response.writeHead(401, { "content-type": "application/problem+json" });
    response.end(JSON.stringify({ status: 401, code: "unauthenticated", detail: "who are you?" }));
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard };
}

describe("a data folder without a running gateway", () => {
  it.each([
    [["devices"]],
    [["call", "desk", "self.get_device_status"]],
    [["token", "create", "agent"]],
    [["simulate", "esp32"]],
  ])("makes `tendon %s` say so, naming the folder, and ask nobody", async (args) => {
    const cwd = stoppedFolder();
    const { code, stdout, stderr } = await run(args, { cwd });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("No gateway runs on the data folder ./data.");
    expect(stderr).toContain("`tendon serve --data ./data`");
    const named = await run([...args, "--data", path.join(cwd, "data")]);
    expect(named.stderr).toContain(`No gateway runs on the data folder ${path.join(cwd, "data")}.`);
    expect(stderr + named.stderr).not.toContain(secret);
  });

  it("keeps its tokens from an address that it did not name", async () => {
    const cwd = stoppedFolder();
    const { url, heard } = await stranger();
    const flag = await run(["devices", "--url", url], { cwd });
    const variable = await run(["devices"], { cwd, env: { TENDON_URL: url } });
    await run(["doctor", "--url", url], { cwd });
    expect(flag.code).toBe(1);
    expect(flag.stderr).toContain("unauthenticated: who are you? Say --token or TENDON_TOKEN");
    expect(variable.stderr).toBe(flag.stderr);
    expect(heard.length).toBeGreaterThanOrEqual(2);
    expect(JSON.stringify(heard)).not.toContain("authorization");
  });

  it("lets a token be given to any address by name", async () => {
    const { url, heard } = await stranger();
    await run(["devices", "--url", url, "--token", "one-for-the-stranger"], { cwd: stoppedFolder() });
    expect(heard.map(({ authorization }) => authorization)).toEqual(["Bearer one-for-the-stranger"]);
  });
});

describe("a data folder with a running gateway", () => {
  it("gives its token to that gateway, however it is named, and to no other", async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const cwd = folder.path;
    const { process: gateway, url } = await startServe(cwd);
    const { url: elsewhere, heard } = await stranger();
    expect((await run(["devices"], { cwd })).code).toBe(0);
    expect((await run(["devices", "--url", `${url}/`], { cwd })).code).toBe(0);
    expect((await run(["devices", "--url", elsewhere], { cwd })).code).toBe(1);
    expect(heard).toHaveLength(1);
    expect(heard[0]).not.toHaveProperty("authorization");
    await gateway.end();
    expect((await run(["devices"], { cwd })).stderr).toContain("No gateway runs on the data folder ./data.");
  });
});

describe("a data folder whose gateway was killed", () => {
  /** Its word is still there, and what it names is somebody else's by now. */
  async function killedFolder() {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const { process: gateway, url } = await startServe(folder.path);
    // A token for agents is in the folder as well.
    await run(["doctor"], { cwd: folder.path });
    const kept = fs.readFileSync(path.join(folder.path, "data", "admin-token"), "utf8").trim();
    await gateway.end("SIGKILL");
    const word = path.join(folder.path, "data", "gateway.json");
    expect(JSON.parse(fs.readFileSync(word, "utf8"))).toMatchObject({ url, locked: true });
    expect(fs.existsSync(path.join(folder.path, "data", "mcp-token"))).toBe(true);
    const { heard } = await stranger(Number(new URL(url).port));
    return { cwd: folder.path, url, word, kept, heard };
  }

  it("keeps its tokens from whoever has that address now, and says that no gateway runs", async () => {
    const { cwd, heard, kept } = await killedFolder();
    const commands = [
      ["devices"],
      ["call", "desk", "self.get_device_status"],
      ["token", "list"],
      ["watch"],
      ["console"],
    ];
    // At once: those who look must not take one another for the gateway.
    const all = await Promise.all(commands.map((args) => run(args, { cwd })));
    for (const { code, stdout, stderr } of all) {
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toContain("No gateway runs on the data folder ./data. Start one with `tendon serve");
      expect(stderr).not.toContain(kept);
    }
    const own = await run(["devices"], { cwd, env: { TENDON_TOKEN: "a-token-for-this-folder's-gateway" } });
    expect(own.stderr).toContain("No gateway runs on the data folder ./data.");
    await run(["doctor"], { cwd });
    expect(JSON.stringify(heard)).not.toContain("authorization");
  });

  it("is not believed because its lock is damaged or gone", async () => {
    const { cwd, heard } = await killedFolder();
    const lock = path.join(cwd, "data", "gateway.lock");
    for (const damage of [() => fs.writeFileSync(lock, "x".repeat(5_000)), () => fs.rmSync(lock)]) {
      damage();
      expect((await run(["devices"], { cwd })).stderr).toContain(
        "No gateway runs on the data folder ./data.",
      );
    }
    expect(heard).toEqual([]);
    expect(fs.existsSync(lock)).toBe(false);
  });

  it("leaves it to the user to name that address, and a token for it", async () => {
    const { cwd, url, heard } = await killedFolder();
    await run(["devices", "--url", url], { cwd });
    expect(JSON.stringify(heard)).not.toContain("authorization");
    await run(["devices", "--url", url, "--token", "one-for-the-stranger"], { cwd });
    expect(heard.at(-1)?.authorization).toBe("Bearer one-for-the-stranger");
  });

  it("makes `tendon mcp` wait for the next gateway, and `tendon watch` too", async () => {
    const { cwd, heard } = await killedFolder();
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
    const second = await stranger(Number(new URL(url).port));
    await watching.until("stderr", /trying again in 1 s/);
    await watching.end();
    expect(JSON.stringify([...heard, ...second.heard])).not.toContain("authorization");
  });

  it("keeps its tokens with another database, too", async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const cwd = folder.path;
    const postgres = await PostgresServer.start();
    onTestFinished(() => postgres.remove());
    const storage = { TENDON_STORAGE: await postgres.newDatabase() };
    const first = await startServe(cwd, [], storage);
    expect((await run(["devices"], { cwd })).code).toBe(0);
    // There a second one on the same folder is let be; it has no lock, and is found by its word.
    const second = await startServe(cwd, [], storage);
    const word = JSON.parse(fs.readFileSync(path.join(cwd, "data", "gateway.json"), "utf8")) as object;
    expect(word).toMatchObject({ url: second.url, locked: false });
    expect((await run(["devices"], { cwd })).code).toBe(0);
    await Promise.all([first.process.end(), second.process.end()]);
    const third = await startServe(cwd, [], storage);
    await third.process.end("SIGKILL");
    const { heard } = await stranger(Number(new URL(third.url).port));
    expect((await run(["devices"], { cwd })).stderr).toContain("No gateway runs on the data folder ./data.");
    expect(heard).toEqual([]);
  });

  it("is taken at its word where the gateway could hold no lock", async () => {
    const { cwd, url, word, heard, kept } = await killedFolder();
    fs.writeFileSync(word, JSON.stringify({ url, locked: false }));
    await run(["devices"], { cwd });
    expect(heard.map(({ authorization }) => authorization)).toEqual([`Bearer ${kept}`]);
  });
});
