import fs from "node:fs";
import path from "node:path";
import { EndpointBroker } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { run, temporaryFolder } from "./run-tendon.ts";

/** A JWT that has expired. Nothing checks its signature. */
const expired = [{ alg: "ES256" }, { agentId: "a-1", exp: 1_700_000_000 }, "signature"]
  .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
  .join(".");

describe("tendon doctor on voice agents", () => {
  it("tries their addresses without showing them, and warns of expired and former tokens", async () => {
    const broker = await EndpointBroker.start({ token: expired });
    onTestFinished(() => broker.stop());
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const endpoints = [
      { url: broker.url, token: "voice" },
      { url: "ws://127.0.0.1:1/mcp/?token=a-secret-in-the-address", token: "voice" },
    ];
    const endpoint = { enabled: true, compatibility: { key: "a-former-key", token: "old" } };
    fs.writeFileSync(
      path.join(folder.path, "tendon.yaml"),
      JSON.stringify({ agents: { endpoints }, endpoint, http: { port: 0 }, mqtt: { port: 0 } }),
    );
    const { code, stdout } = await run(["doctor", "--json"], { cwd: folder.path });
    const { findings } = JSON.parse(stdout) as { findings: { check: string; message: string }[] };
    const of = (check: string) =>
      findings.filter((each) => each.check === check).map(({ message }) => message);
    const { host } = new URL(broker.url);
    expect([code, of("voice agent"), of("MCP endpoint")]).toEqual([
      0,
      [
        `${host} accepts connections`,
        `${host}: the token in the address expired on 2023-11-14`,
        "nothing answers at 127.0.0.1:1 (ECONNREFUSED)",
      ],
      ["on, and accepts tokens of the former endpoint server"],
    ]);
    for (const secret of [expired, "a-secret-in-the-address", "a-former-key"])
      expect(stdout).not.toContain(secret);
  });
});
