import { withoutSecrets } from "@tendon/gateway";
import { describe, expect, it, test } from "vitest";

describe("shown settings", () => {
  test.each([
    ["postgres://tendon:hunter2@db.example:5432/tendon", "postgres://tendon:(hidden)@db.example:5432/tendon"],
    ["postgres://tendon@db.example/tendon", "postgres://tendon@db.example/tendon"],
    ["postgres://u:hunter2@x/y@db.example/tendon", "postgres://u:(hidden)@db.example/tendon"],
    ["postgres://u:hunter2?x@db.example/tendon", "postgres://u:(hidden)@db.example/tendon"],
    ["postgres://u:hunter2#x@db.example/tendon", "postgres://u:(hidden)@db.example/tendon"],
    ["postgres://:hunter2@db.example/tendon", "postgres://:(hidden)@db.example/tendon"],
    [
      "postgres://db/t?user=u&password=hunter2&sslmode=require",
      "postgres://db/t?user=u&password=(hidden)&sslmode=require",
    ],
    ["mqtts://gateway:hunter2@broker.example:8883", "mqtts://gateway:(hidden)@broker.example:8883"],
    ["nats://hunter2@nats.example:4222/fleet", "nats://(hidden)@nats.example:4222/fleet"],
    ["tls://user:hunter2@nats.example", "tls://user:(hidden)@nats.example"],
    ["https://api.example/v1?api_key=hunter2", "https://api.example/v1?api_key=(hidden)"],
    ["https://tendon.example:8443/path", "https://tendon.example:8443/path"],
    ["sqlite:", "sqlite:"],
    ["./data", "./data"],
  ])("hide the password of %s", (written, shown) => {
    expect(withoutSecrets({ storage: written })).toEqual({ storage: shown });
  });

  it("hide keys and tokens by name, at any depth, and the environment of programs", () => {
    const shown = withoutSecrets({
      vision: { provider: { url: "https://x", apiKey: "hunter2" } },
      voice: { token: "hunter2", upstream: [{ token: "hunter2", tokenFile: "voice.token" }] },
      devices: {
        capabilities: { vision: { token: "hunter2", secret_code: "hunter2" } },
        stdio: [
          {
            command: "notes",
            args: ["--verbose", "--token", "hunter2", "--api-key=hunter2", "--password", "hunter2", "last"],
            env: { ANY: "hunter2" },
          },
        ],
      },
      tls: { cert: "chain.pem", key: "private.pem" },
    });
    expect(JSON.stringify(shown)).not.toContain("hunter2");
    expect(shown).toMatchObject({
      voice: { upstream: [{ tokenFile: "voice.token" }] },
      devices: { stdio: [{ command: "notes", args: expect.arrayContaining(["--verbose", "last"]) }] },
      tls: { cert: "chain.pem", key: "private.pem" },
    });
  });
});
