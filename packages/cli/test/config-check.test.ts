/** `config check` reports the problems that keep `serve` from starting, with the same messages. */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { run, temporaryFolder } from "./run-tendon.ts";

const openssl = "openssl";
let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

function write(yaml: readonly string[]): void {
  fs.writeFileSync(path.join(folder.path, "tendon.yaml"), yaml.join("\n"));
}

/** Writes NAME.pem and NAME-key.pem. */
function certify(name: string): void {
  const at = (file: string) => path.join(folder.path, file);
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const files = ["-keyout", at(`${name}-key.pem`), "-out", at(`${name}.pem`)];
  execFileSync(openssl, ["req", "-x509", ...curve, "-subj", "/CN=tendon", ...files], { stdio: "ignore" });
}

const wrong: Record<string, { yaml: string[]; says: string; doctor?: string }> = {
  "a certificate without its key": {
    yaml: ["tls:", "  cert: nope.pem"],
    says: "tls.cert and tls.key go together.",
  },
  "missing certificate files": {
    yaml: ["tls:", "  cert: nope.pem", "  key: nope-key.pem"],
    says: "tls.cert: nope.pem cannot be read (ENOENT",
    doctor: "nope.pem, nope-key.pem: ENOENT",
  },
  "the key of another certificate": {
    yaml: ["tls:", "  cert: one.pem", "  key: two-key.pem"],
    says: "tls.key (two-key.pem) is not the key of tls.cert (one.pem).",
    doctor: "two-key.pem is not the key of one.pem",
  },
  "open admission on every network interface": {
    yaml: ["http:", "  host: 0.0.0.0", "devices:", "  admission: open"],
    says: "With `devices.admission: open`, any device that can reach 0.0.0.0 may connect.",
    doctor: "open, and other machines can reach 0.0.0.0",
  },
  "a cluster with a SQLite database": {
    yaml: ["cluster: nats://127.0.0.1:4222"],
    says: "The nodes of a cluster need a shared database: set `storage: postgres://…` beside `cluster`.",
  },
  "an invalid cluster name": {
    yaml: ["cluster: nats://127.0.0.1:4222/a.b", "storage: postgres://127.0.0.1/tendon"],
    says: "The name in `cluster` may have letters, digits, `_` and `-`, 32 at most.",
  },
  "an MQTT port for TLS without a certificate": {
    yaml: ["mqtt:", "  tlsPort: 8883"],
    says: "mqtt.tlsPort needs tls.cert and tls.key.",
  },
  "a missing token for a voice server": {
    yaml: ["voice:", "  upstream:", "    - url: ws://127.0.0.1:9/", "      signIn: token"],
    says: "The entry ws://127.0.0.1:9/ of voice.upstream has `signIn: token` but no token. Set tokenFile or TENDON_VOICE_TOKEN.",
  },
  "a vision server of one's own without an http address": {
    yaml: ["devices:", "  capabilities:", "    vision:", "      url: ftp://192.168.1.20/explain"],
    says: "devices.capabilities.vision.url must be an http or https address.",
  },
  "a vision provider with a password in its address": {
    yaml: ["vision:", "  provider:", "    url: http://me:pw@127.0.0.1:9/v1", "    model: m"],
    says: "vision.provider.url must not contain a user name or password.",
  },
};

describe("tendon config check", () => {
  it.each(Object.keys(wrong))("reports %s, as serve does", async (name) => {
    const { yaml = [], says = "", doctor = says } = wrong[name] ?? {};
    certify("one");
    certify("two");
    write(yaml);
    const cwd = folder.path;
    const checked = await run(["config", "check"], { cwd });
    expect([checked.code, checked.stdout]).toEqual([1, ""]);
    expect(checked.stderr).toContain(says);
    const served = await run(["serve", "--port", "0", "--mqtt-port", "0"], { cwd });
    expect(served.code).toBe(1);
    expect(served.stderr).toContain(says);
    const examined = await run(["doctor"], { cwd });
    expect(examined.stdout).toContain(doctor);
    // None of the commands created a database.
    expect(fs.existsSync(path.join(cwd, "data", "tendon.db"))).toBe(false);
  });

  it("reports all problems at once", async () => {
    write(["http:", "  host: 0.0.0.0", "devices:", "  admission: open", "tls:", "  key: nope.pem"]);
    const { stderr } = await run(["config", "check"], { cwd: folder.path });
    expect(stderr).toContain("tls.cert and tls.key go together.");
    expect(stderr).toContain("`devices.admission: open`");
  });

  it("accepts a valid configuration, and open admission with --allow-open", async () => {
    certify("one");
    write([
      "http:",
      "  host: 0.0.0.0",
      "devices:",
      "  admission: open",
      "tls:",
      "  cert: one.pem",
      "  key: one-key.pem",
    ]);
    expect(await run(["config", "check", "--allow-open"], { cwd: folder.path })).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringContaining("valid"),
    });
    expect(fs.existsSync(path.join(folder.path, "data"))).toBe(false);
  });
});
