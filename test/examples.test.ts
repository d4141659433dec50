/** Runs the examples as a user would. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import net from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { VirtualDevice } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "./inbox.ts";
import { adminToken, openSite, type Site } from "./site.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

interface Run {
  readonly output: () => string;
  readonly ended: Promise<number | null>;
}

function run(command: string, args: readonly string[], token = adminToken): Run {
  const child = spawn(command, args, { cwd: root, env: { ...process.env, TENDON_TOKEN: token } });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      output += text;
    });
  }
  // Not `exit`, because the last output may arrive after it.
  const ended = once(child, "close").then(([code]) => code as number | null);
  onTestFinished(async () => {
    if (child.exitCode === null) child.kill("SIGKILL");
    await ended;
  });
  return { output: () => output, ended };
}

async function openDevice(): Promise<{ site: Site; device: VirtualDevice; port: string }> {
  const site = await openSite();
  const device = new VirtualDevice({ otaUrl: site.tendon.addresses.ota, autoReconnect: false });
  onTestFinished(() => device.stop());
  await device.connect();
  await until(async () => (await site.device(device.id))["toolsComplete"] === true, "a list");
  return { site, device, port: new URL(site.tendon.addresses.mqtt).port };
}

describe("examples/mqtt-app.mjs", () => {
  it("[APP-3] calls a tool and prints the answer", async () => {
    const { site, device } = await openDevice();
    const app = run(process.execPath, ["examples/mqtt-app.mjs", device.id, site.tendon.addresses.mqtt]);
    expect([await app.ended, app.output()]).toEqual([0, expect.stringContaining('"ok":true')]);
    expect(JSON.parse(app.output())).toMatchObject({ result: { structuredContent: { audio_speaker: {} } } });
  });

  it("[APP-3] fails when the call fails, when the token is wrong, and without arguments", async () => {
    const { site } = await openDevice();
    const at = site.tendon.addresses.mqtt;
    const unknown = run(process.execPath, ["examples/mqtt-app.mjs", "02:00:00:00:00:99", at]);
    expect([await unknown.ended, unknown.output()]).toEqual([1, expect.stringContaining("device_unknown")]);
    const stranger = run(process.execPath, ["examples/mqtt-app.mjs", "x", at], "an-unknown-token-here");
    expect(await stranger.ended).toBe(1);
    const lost = run(process.execPath, ["examples/mqtt-app.mjs"]);
    expect([await lost.ended, lost.output()]).toEqual([2, expect.stringContaining("usage:")]);
  });
});

describe("examples/mcp-agent.mjs", () => {
  it("[SRV-1] finds a tool by a task, calls it, and fails when the call fails", async () => {
    const { site, device } = await openDevice();
    const at = ["examples/mcp-agent.mjs", "set the volume"];
    const agent = run(process.execPath, [...at, '{"volume":31}', site.url]);
    expect([await agent.ended, agent.output()]).toEqual([0, expect.stringContaining("set_volume: true")]);
    expect(device.state.get("volume")).toBe(31);
    const wrong = run(process.execPath, [...at, '{"volume":300}', site.url]);
    expect([await wrong.ended, wrong.output()]).toEqual([1, expect.stringContaining("arguments_invalid")]);
    const lost = run(process.execPath, ["examples/mcp-agent.mjs"]);
    expect([await lost.ended, lost.output()]).toEqual([2, expect.stringContaining("usage:")]);
  });

  it("[AGT-11] uses an online device, even if offline devices of the same kind come first", async () => {
    const site = await openSite();
    const come = async (mac: string) => {
      const board = { mac, clientId: randomUUID(), name: "desk-board" };
      const device = new VirtualDevice({ board, otaUrl: site.tendon.addresses.ota, autoReconnect: false });
      onTestFinished(() => device.stop());
      await device.connect();
      await until(async () => (await site.device(mac))["toolsComplete"] === true, "a list");
      return device;
    };
    for (const mac of ["02:00:00:00:00:01", "02:00:00:00:00:02"]) {
      await (await come(mac)).stop();
      await until(async () => (await site.device(mac))["online"] === false, "its leaving");
    }
    const device = await come("02:00:00:00:00:03");
    const agent = run(process.execPath, [
      "examples/mcp-agent.mjs",
      "set the volume",
      '{"volume":32}',
      site.url,
    ]);
    expect([await agent.ended, agent.output()]).toEqual([0, expect.stringContaining("set_volume: true")]);
    expect(device.state.get("volume")).toBe(32);
  });
});

describe("examples/function-calling.mjs", () => {
  it("[FUN-2] lets a model set a device's volume with a function, and prints the device's answer", async () => {
    const { site, device } = await openDevice();
    const agent = run(process.execPath, ["examples/function-calling.mjs", "Set the volume to 31", site.url]);
    expect([await agent.ended, agent.output()]).toEqual([0, expect.stringContaining("Done: true")]);
    expect(agent.output()).toMatch(/__audio_speaker_set_volume \{"volume":31\} -> ok/);
    expect(device.state.get("volume")).toBe(31);
  });

  it("[FUN-2] reports errors to the model, and missing settings to the user", async () => {
    const { site } = await openDevice();
    const wrong = run(process.execPath, ["examples/function-calling.mjs", "Set the volume to 300", site.url]);
    expect([await wrong.ended, wrong.output()]).toEqual([
      0,
      expect.stringContaining("Done: arguments_invalid"),
    ]);
    const none = run(process.execPath, ["examples/function-calling.mjs", "Sing!", site.url]);
    expect([await none.ended, none.output()]).toEqual([0, "I have no function for that.\n"]);
    const stranger = run(
      process.execPath,
      ["examples/function-calling.mjs", "x", site.url],
      "an-unknown-token-here",
    );
    expect([await stranger.ended, stranger.output()]).toEqual([1, "the gateway answers 401\n"]);
    const lost = run(process.execPath, ["examples/function-calling.mjs"]);
    expect([await lost.ended, lost.output()]).toEqual([2, expect.stringContaining("usage:")]);
  });
});

describe("examples/mqtt-app.sh", () => {
  it("[APP-2] sends an action from a shell and prints the answer", async () => {
    const { device, port } = await openDevice();
    const before = Number(device.state.get("volume"));
    const app = run("sh", ["examples/mqtt-app.sh", device.id, "volume_down", "127.0.0.1", port]);
    expect([await app.ended, app.output()]).toEqual([0, expect.stringContaining('"ok":true')]);
    expect(JSON.parse(app.output())).toMatchObject({
      type: "device_control_response",
      request_id: expect.stringMatching(/^req_\d+$/),
      action: "volume_down",
    });
    expect(device.state.get("volume")).toBe(before - 10);
    const wrong = run("sh", ["examples/mqtt-app.sh", device.id, "explode", "127.0.0.1", port]);
    expect([await wrong.ended, wrong.output()]).toEqual([1, expect.stringContaining("action_unknown")]);
  });
});

describe("examples/own-device.mjs", () => {
  const file = "examples/own-device.mjs";
  const approving = { config: { devices: { admission: "approve" } } } as const;

  it("[DEV-3] is a device with a lamp at a gateway with approval, until the gateway stops", async () => {
    const site = await openSite(approving);
    const lamp = run(process.execPath, [file, "--url", site.url]);
    await until(async () => (await site.device("my-lamp"))["toolsComplete"] === true, "a list");
    expect(await site.toolNames("my-lamp")).toEqual(["lamp.set", "lamp.get"]);
    const on = await site.call("my-lamp", "lamp.set", { on: true });
    expect(on.body["result"]).toMatchObject({ structuredContent: { on: true } });
    expect((await site.call("my-lamp", "lamp.get")).body["result"]).toMatchObject({
      structuredContent: { on: true },
    });
    await site.tendon.stop();
    expect([await lamp.ended, lamp.output()]).toEqual([
      0,
      "my-lamp is connected; press Ctrl+C to stop\nlamp is on\nlamp is on\ndisconnected\n",
    ]);
  });

  it("[DEV-3] uses the given id, and reconnects with it", async () => {
    const site = await openSite(approving);
    const id = "24:6f:28:aa:bb:cc";
    for (let round = 0; round < 2; round += 1) {
      const lamp = run(process.execPath, [file, "--id", id, "--url", site.url]);
      await until(() => lamp.output().includes(`${id} is connected`), "its connection");
      await until(async () => (await site.device(id))["online"] === true, "the device");
    }
  });

  it("[DEV-7] prints the gateway's reason when it is rejected, and accepts a device token", async () => {
    const site = await openSite(approving);
    const at = site.tendon.addresses.deviceWebSocket;
    const id = "02:00:00:00:1a:3d";
    const refused = run(process.execPath, [file, "--id", id, "--url", at]);
    expect([await refused.ended, refused.output()]).toEqual([
      1,
      expect.stringContaining("cannot connect: forbidden: this device is not provisioned"),
    ]);
    const { websocket } = site.tendon.provision(id, "7f0c9d3a-5b1e-4a77-9a44-000000000001");
    run(process.execPath, [file, "--id", id, "--url", at, "--device-token", websocket.token]);
    await until(async () => (await site.device(id))["online"] === true);
  });

  it("reports a missing token, an unreachable gateway and an invalid id", async () => {
    const site = await openSite(approving);
    const free = await freePort();
    for (const [args, token, text] of [
      [["--url", site.url], "an-unknown-token-here", "cannot connect: unauthenticated: "],
      [["--url", site.url], "", "cannot connect: no token: set TENDON_TOKEN"],
      [["--url", `http://127.0.0.1:${free}`], adminToken, "no gateway answers at http://127.0.0.1:"],
      [["--url", site.url, "--id", "my lamp"], adminToken, "cannot connect: bad_request: `id` is not"],
    ] as const) {
      const lamp = run(process.execPath, [file, ...args], token);
      expect([await lamp.ended, lamp.output()]).toEqual([1, expect.stringContaining(text)]);
    }
  });
});

/** A port that was free a moment ago, where nothing listens. */
async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
