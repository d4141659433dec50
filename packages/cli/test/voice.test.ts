import fs from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openGateway } from "./open-gateway.ts";
import { run, start, temporaryFolder } from "./run-tendon.ts";

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

interface Sessions {
  readonly sessions: readonly {
    readonly transport: string;
    readonly upstream: string;
    readonly up: { readonly packets: number };
  }[];
}

describe("tendon simulate voice-server", () => {
  it.each(["ws", "mqtt"] as const)(
    "holds a conversation with a board over %s through the gateway",
    async (transport) => {
      const cwd = folder.path;
      const server = start(
        [
          "simulate",
          "voice-server",
          "--port",
          "0",
          "--require-token",
          "a-secret",
          "--call-tool",
          "self.get_device_status",
        ],
        { cwd },
      );
      const [, url = ""] = await server.until("stdout", /^voice server ready (ws:\S+)$/m);
      fs.writeFileSync(
        path.join(cwd, "tendon.yaml"),
        `voice:\n  upstream:\n    url: ${url}\n    signIn: token\n`,
      );
      const env = { TENDON_VOICE_TOKEN: "a-secret", TENDON_VOICE_UDP_PORT: "0" };
      const gateway = await openGateway(cwd, { env });
      expect((await run(["voice"], { cwd })).stdout).toBe("No active conversations.\n");

      const board = start(["simulate", "esp32", "--transport", transport, "--speak", "100ms"], { cwd });
      await server.until("stdout", /02:00:00:00:10:01 {2}listed 5 tools/);
      await server.until("stdout", /question of \d+ packets, answered with 40/);
      const { stdout } = await run(["voice", "--json"], { cwd });
      expect((JSON.parse(stdout) as Sessions).sessions).toEqual([
        expect.objectContaining({
          transport: transport === "ws" ? "websocket" : "mqtt",
          upstream: new URL(url).host,
        }),
      ]);
      expect((await run(["voice"], { cwd })).stdout).toMatch(
        /virtual-esp32-1001.*127\.0\.0\.1:\d+.*packets, 0 lost/,
      );
      const calls = await run(["calls"], { cwd });
      expect(calls.stdout).toMatch(/self\.get_device_status\s+voice-server\s+ok/);
      await board.end();
      await server.until("stdout", /disconnected/);
      expect((await server.end("SIGINT")).code).toBe(0);
      await gateway.end();
    },
  );

  it("lists its faults and rejects an unknown one", async () => {
    expect((await run(["simulate", "voice-server", "--fault", "list"])).stdout).toMatch(/drop-mid-sentence/);
    const wrong = await run(["simulate", "voice-server", "--fault", "nope"]);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(/unknown fault "nope"/);
  });

  it("prints its address as JSON, and reports a port in use", async () => {
    const server = start(["simulate", "voice-server", "--port", "0", "--json"]);
    const [, port = ""] = await server.until("stdout", /"url":"ws:\/\/127\.0\.0\.1:(\d+)\//);
    const second = await run(["simulate", "voice-server", "--port", port]);
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/Cannot listen on 127\.0\.0\.1/);
    await server.end();
  });
});

describe("the settings of a voice server", () => {
  it("are shown without their tokens, from the file and from the environment", async () => {
    const cwd = folder.path;
    fs.writeFileSync(
      path.join(cwd, "tendon.yaml"),
      "voice:\n  upstream:\n    - url: ws://one.example/xiaozhi/v1/\n      signIn: token\n      token: very-secret\n",
    );
    const shown = await run(["config", "show"], { cwd, env: { TENDON_VOICE_TOKEN: "also-secret" } });
    expect(shown.stdout).toContain("ws://one.example/xiaozhi/v1/");
    expect(shown.stdout).not.toMatch(/very-secret|also-secret/);
    const single = await run(["config", "show", "--json"], {
      env: { TENDON_VOICE_UPSTREAM: "wss://two.example/v1/" },
    });
    expect(single.stdout).toContain('"url":"wss://two.example/v1/"');
  });

  it("are rejected at the start with a message when they are invalid", async () => {
    const cwd = folder.path;
    const file = path.join(cwd, "tendon.yaml");
    fs.writeFileSync(file, "voice:\n  upstream: http://not.a.websocket/\n");
    const wrong = await run(["config", "check"], { cwd });
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toMatch(/voice\.upstream/);
    fs.writeFileSync(
      file,
      "voice:\n  udpPort: 0\n  upstream:\n    url: ws://voice.example/\n    signIn: token\n",
    );
    const started = await run(["serve", "--port", "0", "--mqtt-port", "0"], { cwd });
    expect(started.code).toBe(1);
    expect(started.stderr).toMatch(/`signIn: token` but no token/);
  });
});
