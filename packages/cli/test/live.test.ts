import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { WebSocketServer } from "ws";
import { openGateway } from "./open-gateway.ts";
import { run, start, startServe, temporaryFolder } from "./run-tendon.ts";

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

describe("tendon watch", () => {
  it("prints events, reconnects when the gateway restarts, and exits with 0", async () => {
    const cwd = folder.path;
    const first = await startServe(cwd);
    const watch = start(["watch", "--json", "--type", "device.online,device.offline"], { cwd });
    await watch.until("stderr", /^watching; press Ctrl\+C to stop$/m);
    const board = start(["simulate", "esp32"], { cwd });
    await watch.until("stdout", /"type":"device.online"/);
    expect((await first.process.end()).code).toBe(0);
    await watch.until("stderr", /connection lost, retrying/);
    const { port } = new URL(first.url);
    const second = start(["serve", "--port", port, "--mqtt-port", "0"], { cwd });
    await second.until("stdout", /tendon ready/);
    await watch.until("stderr", /^watching again$/m);
    const again = start(["simulate", "esp32", "--id", "02:00:00:00:30:01"], { cwd });
    await watch.until("stdout", /device.online.*02:00:00:00:30:01|02:00:00:00:30:01.*/s);
    const { code, stdout, stderr } = await watch.end("SIGINT");
    expect(code).toBe(0);
    // The events during the restart arrive too, because the gateway stores them.
    expect(stderr).not.toContain("some events were lost");
    for (const line of stdout.trim().split("\n"))
      expect(JSON.parse(line).type).toMatch(/^device\.(online|offline)$/);
    await Promise.all([board.end(), again.end()]);
    expect((await second.end()).code).toBe(0);
  });

  it("rejects an unknown event type", async () => {
    const gateway = await openGateway(folder.path);
    const { code, stderr } = await run(["watch", "--type", "device.dances"], { cwd: folder.path });
    expect(code).toBe(1);
    expect(stderr).toContain("no event has the type");
    await gateway.end();
  });
});

describe("tendon simulate", () => {
  it("runs a fleet with a live count and disconnects it at the end", async () => {
    const cwd = folder.path;
    const gateway = await openGateway(cwd);
    const fleet = start(["simulate", "esp32", "--count", "25"], { cwd });
    await fleet.until("stderr", /25 of 25 connected.*Ctrl\+C/);
    const online = async () =>
      (JSON.parse((await run(["devices", "--online", "--json"], { cwd })).stdout) as { devices: unknown[] })
        .devices;
    expect(await online()).toHaveLength(25);
    expect((await fleet.end("SIGINT")).code).toBe(0);
    expect(await online()).toHaveLength(0);
    await gateway.end();
  });

  it("prints a device's state changes, and continues when the gateway rejects its token", async () => {
    const cwd = folder.path;
    const gateway = await openGateway(cwd);
    const board = start(["simulate", "esp32", "--json"], { cwd });
    await board.until("stdout", /"kind":"started"/);
    await run(["call", "virtual-esp32-1001", "self.audio_speaker.set_volume", "volume=12"], { cwd });
    await board.until("stdout", /"key":"volume","value":12/);
    const rejected = start([
      "simulate",
      "esp32",
      "--id",
      "02:00:00:00:66:66",
      "--url",
      `${gateway.url.replace("http", "ws")}/xiaozhi/v1/`,
    ]);
    await rejected.until("stdout", /cannot connect/);
    expect((await rejected.end()).code).toBe(0);
    await board.end();
    await gateway.end();
  });

  it("runs devices over MQTT", async () => {
    const cwd = folder.path;
    const gateway = await openGateway(cwd);
    const fleet = start(["simulate", "esp32", "--transport", "mqtt", "--count", "2"], { cwd });
    await fleet.until("stderr", /2 of 2 connected/);
    const { devices } = JSON.parse((await run(["devices", "--json"], { cwd })).stdout) as {
      devices: { transport: string }[];
    };
    expect(devices.map(({ transport }) => transport)).toEqual(["mqtt", "mqtt"]);
    const called = await run(["call", "virtual-esp32-1002", "self.audio_speaker.set_volume", "volume=9"], {
      cwd,
    });
    expect(called).toMatchObject({ code: 0, stdout: "true\n" });
    await fleet.end();
    await gateway.end();
  });

  it("prints the messages that the board drops, in the words of the firmware's log", async () => {
    const backend = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => backend.close());
    backend.on("connection", (socket) => {
      const payload = { jsonrpc: "2.0", id: "1", method: "tools/call", params: { name: "x" } };
      socket.once("message", () => {
        socket.send(JSON.stringify({ type: "hello", transport: "websocket", session_id: "s" }));
        socket.send(JSON.stringify({ session_id: "s", type: "mcp", payload }));
      });
    });
    await once(backend, "listening");
    const { port } = backend.address() as AddressInfo;
    const board = start(["simulate", "esp32", "--url", `ws://127.0.0.1:${port}/`]);
    await board.until("stdout", /ignores a message: Invalid id for method: tools\/call/);
    expect((await board.end()).code).toBe(0);
  });

  it("lists and describes its faults", async () => {
    const { code, stdout } = await run(["simulate", "esp32", "--fault", "list"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/slow\s+every tool/);
  });
});
