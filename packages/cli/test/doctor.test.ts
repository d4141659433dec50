import { execFileSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { describe, expect, it, onTestFinished, test } from "vitest";
import { selfSigned } from "../../../test/self-signed.ts";
import { run, startServe, temporaryFolder } from "./run-tendon.ts";

const program = "openssl";

interface Finding {
  readonly check: string;
  readonly state: "ok" | "warning" | "failed";
  readonly message: string;
  readonly why?: string;
  readonly todo?: string;
}

function folder(): string {
  const made = temporaryFolder();
  onTestFinished(() => made.remove());
  return made.path;
}

/** Free ports, so that other programs on this machine do not affect the checks. */
const anyPorts = { TENDON_HTTP_PORT: "0", TENDON_MQTT_PORT: "0" };

async function diagnose(cwd: string, env: Record<string, string> = {}, args: readonly string[] = []) {
  const { code, stdout, stderr } = await run(["doctor", "--json", ...args], {
    cwd,
    env: { ...anyPorts, ...env },
  });
  expect(stderr).toBe("");
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
  expect(code).toBe(ok ? 0 : 1);
  expect(ok).toBe(findings.every(({ state }) => state !== "failed"));
  for (const { state, why, todo } of findings) {
    // A warning or failure says why it matters and what to do.
    const explained = why !== undefined && why !== "" && todo !== undefined && todo !== "";
    expect(explained).toBe(state !== "ok");
  }
  const of = (check: string) => findings.filter((finding) => finding.check === check);
  return { ok, findings, of, stdout };
}

describe("tendon doctor", () => {
  it("passes with default settings, and warns that boards cannot connect", async () => {
    const { ok, of } = await diagnose(folder());
    expect(ok).toBe(true);
    expect(of("device address")).toMatchObject([
      { state: "warning", message: "only this machine can reach 127.0.0.1" },
    ]);
    expect(of("storage")).toMatchObject([{ state: "ok" }]);
    expect(of("clock")).toMatchObject([
      { state: "ok", message: expect.stringContaining("no time server was asked") },
    ]);
  });

  const troubles: readonly {
    readonly what: string;
    readonly env: Record<string, string>;
    readonly found: readonly (readonly [string, Finding["state"], RegExp])[];
  }[] = [
    {
      what: "an IPv6 address, unreachable servers and a token of digits",
      env: {
        TENDON_HTTP_PUBLIC_URL: "http://[fd00::1]:8000",
        TENDON_CLUSTER: "nats://hunter2@127.0.0.1:1",
        TENDON_STORAGE: "postgres://u:hunter2@127.0.0.1:1/tendon",
        TENDON_MQTT_BROKER: "mqtts://u:hunter2@127.0.0.1:1",
        TENDON_TOKEN: "9081726354436271",
      },
      found: [
        ["OTA address", "failed", /IPv6/],
        ["cluster", "failed", /nothing answers at 127\.0\.0\.1:1 \(ECONNREFUSED\)/],
        ["storage", "failed", /127\.0\.0\.1:1\/tendon: .*ECONNREFUSED/],
        ["broker", "failed", /nothing answers at 127\.0\.0\.1:1/],
        ["MQTT address", "failed", /plain MQTT with 127\.0\.0\.1:1, which expects TLS/],
        ["TENDON_TOKEN", "warning", /easy to guess/],
      ],
    },
    {
      what: "a user name in the address, a plain broker on port 8883 and a token that is a common word",
      env: {
        TENDON_HTTP_PUBLIC_URL: "http://u:hunter2@192.0.2.1:8000",
        TENDON_MQTT_BROKER: "mqtt://127.0.0.1:8883",
        TENDON_TOKEN: "hunter2-password",
      },
      found: [
        ["OTA address", "failed", /user name/],
        ["MQTT address", "failed", /use TLS with 127\.0\.0\.1:8883, but nothing there serves TLS/],
        ["TENDON_TOKEN", "warning", /easy to guess/],
      ],
    },
    {
      what: "a colon in the path of the address, port 8883 without a local server, and open admission on the network",
      env: {
        TENDON_HTTP_PUBLIC_URL: "http://192.0.2.1/a:b",
        TENDON_MQTT_PUBLIC_ENDPOINT: "192.0.2.1:8883",
        TENDON_HTTP_HOST: "0.0.0.0",
        TENDON_DEVICES_ADMISSION: "open",
      },
      found: [
        ["OTA address", "failed", /restart over it/],
        ["MQTT address", "warning", /does not serve itself/],
        ["admission", "warning", /open, and other machines can reach 0\.0\.0\.0/],
      ],
    },
    {
      what: "a name that does not resolve, and an address that this machine does not have",
      env: { TENDON_HTTP_PUBLIC_URL: "http://tendon.invalid:8000", TENDON_HTTP_HOST: "192.0.2.1" },
      found: [
        ["device name", "failed", /does not resolve/],
        ["port", "failed", /does not have that address/],
      ],
    },
    {
      what: "an mDNS name, and a public URL with the wrong port",
      env: { TENDON_HTTP_PORT: "18000", TENDON_HTTP_PUBLIC_URL: "http://tendon.local" },
      found: [
        ["device name", "warning", /mDNS/],
        ["device address", "warning", /listens on 127\.0\.0\.1, but boards are given tendon\.local/],
        ["public port", "warning", /port 80, but the gateway listens on 18000/],
      ],
    },
    {
      what: "a proxy while http.trustProxy is off",
      env: {
        TENDON_HTTP_PORT: "18000",
        TENDON_HTTP_PUBLIC_URL: "https://192.0.2.1",
        TENDON_HTTP_HOST: "0.0.0.0",
      },
      found: [["proxy", "warning", /trustProxy is off/]],
    },
    {
      what: "a public URL on loopback",
      env: { TENDON_HTTP_HOST: "0.0.0.0", TENDON_HTTP_PUBLIC_URL: "http://localhost:8000" },
      found: [["device address", "failed", /only this machine/]],
    },
  ];

  test.each(troubles)("reports $what", async ({ env, found }) => {
    const { of, stdout } = await diagnose(folder(), env);
    for (const [check, state, message] of found)
      expect(of(check)).toMatchObject([{ state, message: expect.stringMatching(message) }]);
    expect(stdout).not.toContain("hunter2");
  });

  it("passes with a strong token and a public URL in the network", async () => {
    const { of } = await diagnose(folder(), {
      TENDON_TOKEN: "vN3xQ0pRk2LmT7wZ9yBc",
      TENDON_HTTP_HOST: "0.0.0.0",
      TENDON_HTTP_PUBLIC_URL: "http://192.0.2.1:8000",
      TENDON_HTTP_PORT: "0",
    });
    expect(of("TENDON_TOKEN")).toMatchObject([{ state: "ok" }]);
    expect(of("OTA address")).toMatchObject([{ state: "ok", message: "http://192.0.2.1:8000/xiaozhi/ota/" }]);
    expect(of("device address")).toEqual([]);
  });

  it("reports an invalid setting with its line", async () => {
    const cwd = folder();
    fs.writeFileSync(path.join(cwd, "tendon.yaml"), "calls:\n  timeoutMs: soon\n");
    const { of } = await diagnose(cwd);
    expect(of("settings")).toMatchObject([
      { state: "failed", message: expect.stringContaining("tendon.yaml:2") },
    ]);
    const { code, stdout } = await run(["doctor"], { cwd });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^FAIL {2}settings/m);
    expect(stdout).toMatch(/^ +why {2}the gateway does not start/m);
    expect(stdout).toMatch(/^ +do {3}fix the lines/m);
  });

  it("reports a data folder that cannot be used", async () => {
    const cwd = folder();
    fs.writeFileSync(path.join(cwd, "taken"), "");
    const file = await diagnose(cwd, {}, ["--data", "taken"]);
    expect(file.of("data folder")).toMatchObject([
      { state: "failed", message: expect.stringContaining("is a file") },
    ]);
    const below = await diagnose(cwd, {}, ["--data", "taken/below"]);
    expect(below.of("data folder")).toMatchObject([{ state: "failed" }]);
    const nowhere = await diagnose(cwd, {}, ["--data", "/proc/tendon"]);
    expect(nowhere.of("data folder")).toMatchObject([{ state: "failed" }]);
  });

  it("reports secrets that others can read, and files with future dates", async () => {
    const cwd = folder();
    const data = path.join(cwd, "data");
    fs.mkdirSync(data);
    fs.writeFileSync(path.join(data, "admin-token"), "x\n", { mode: 0o644 });
    const tomorrow = Date.now() / 1_000 + 86_400;
    fs.utimesSync(path.join(data, "admin-token"), tomorrow, tomorrow);
    const { of } = await diagnose(cwd);
    expect(of("secrets")).toMatchObject([
      { state: "warning", message: expect.stringContaining("admin-token") },
    ]);
    expect(of("clock")).toMatchObject([
      { state: "warning", message: expect.stringMatching(/is dated 24 h in the future/) },
    ]);
  });

  it("names the program or gateway that uses the port", async () => {
    const server = net.createServer().listen(0, "127.0.0.1");
    onTestFinished(() => {
      server.close();
    });
    await once(server, "listening");
    const { port } = server.address() as net.AddressInfo;
    const taken = await diagnose(folder(), {
      TENDON_HTTP_PORT: String(port),
      TENDON_MQTT_PORT: String(port),
    });
    const words = expect.stringMatching(
      new RegExp(
        `:${port} is in use by another program that is not a Tendon gateway(: .+ \\(process ${process.pid}\\))?$`,
      ),
    );
    expect(taken.of("port")).toMatchObject([{ state: "failed", message: words }]);
    expect(taken.of("MQTT port")).toMatchObject([{ state: "failed", message: words }]);

    const other = await startServe(folder());
    onTestFinished(() => void other.process.end());
    const theirs = await diagnose(folder(), { TENDON_HTTP_PORT: new URL(other.url).port });
    expect(theirs.of("port")).toMatchObject([
      {
        state: "failed",
        message: expect.stringContaining("another Tendon gateway, with a different data folder"),
      },
    ]);
    await other.process.end();
  });

  it("shows the addresses of the running gateway, not those of the configuration", async () => {
    const cwd = folder();
    const env = {
      TENDON_HTTP_PUBLIC_URL: "http://192.0.2.7:8000",
      TENDON_MQTT_PUBLIC_ENDPOINT: "192.0.2.7:1884",
    };
    const own = selfSigned("IP:127.0.0.2", 30);
    const tls = { TENDON_TLS_CERT: own.cert, TENDON_TLS_KEY: own.key };
    const { process: gateway, url } = await startServe(cwd, ["--host", "127.0.0.2"], {
      ...tls,
      TENDON_MQTT_TLS_PORT: "0",
    });
    const { of } = await diagnose(cwd, { TENDON_HTTP_PORT: "8000", TENDON_MQTT_PORT: "1883" });
    expect(url).toMatch(/^https:\/\/127\.0\.0\.2:/);
    expect(of("gateway")).toMatchObject([{ state: "ok", message: `running at ${url}, ready` }]);
    expect(of("certificate")).toMatchObject([{ state: "ok", message: expect.stringContaining(own.cert) }]);
    const { stdout: shown } = await run(["doctor"], { cwd });
    expect(shown).toContain(`curl --cacert ${own.cert} `);
    expect(shown).toContain(`${url}/api/v1/devices`);
    expect(shown).not.toContain("http://");
    expect(of("OTA address")).toMatchObject([{ message: `${url}/xiaozhi/ota/` }]);
    expect(of("device address")).toMatchObject([{ message: "only this machine can reach 127.0.0.2" }]);
    const [, mqtt = ""] = /devices \(MQTT\)\s+(\S+)/.exec(gateway.stdout) ?? [];
    expect(mqtt).toMatch(/^127\.0\.0\.2:\d+$/);
    expect(of("MQTT address")).toMatchObject([{ message: `${mqtt}, without TLS` }]);
    await gateway.end();

    const known = await startServe(cwd, [], env);
    // The gateway does not use a certificate that is set only in the doctor's environment.
    const outside = await diagnose(cwd, tls);
    expect(outside.of("certificate")).toEqual([]);
    expect(outside.of("OTA address")).toMatchObject([{ message: "http://192.0.2.7:8000/xiaozhi/ota/" }]);
    expect(outside.of("MQTT address")).toMatchObject([
      { message: expect.stringContaining("192.0.2.7:1884") },
    ]);
    await known.process.end();
  });

  it("finds the gateway of this folder, creates the client token only on request, and warns when it was revoked", async () => {
    const cwd = folder();
    const { process: gateway, url } = await startServe(cwd);
    onTestFinished(() => void gateway.end());
    const first = await diagnose(cwd);
    expect(first.ok).toBe(true);
    expect(first.of("gateway")).toMatchObject([{ state: "ok", message: `running at ${url}, ready` }]);
    expect(first.of("port")).toEqual([]);
    const file = path.join(cwd, "data", "mcp-token");
    expect(first.of("client token")).toMatchObject([
      { state: "ok", message: expect.stringContaining("tendon doctor --create-token") },
    ]);
    expect(fs.existsSync(file)).toBe(false);
    expect(JSON.parse((await run(["token", "list", "--json"], { cwd })).stdout)).toEqual({ tokens: [] });
    const made = await run(["doctor", "--create-token"], { cwd });
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(`mcp-token is valid`) });
    const token = fs.readFileSync(file, "utf8").trim();
    const admin = fs.readFileSync(path.join(cwd, "data", "admin-token"), "utf8").trim();
    const shown = await run(["doctor"], { cwd });
    for (const secret of [token, admin])
      expect(first.stdout + made.stdout + shown.stdout).not.toContain(secret);
    expect(shown.stdout).toContain(`${url}/api/v1/devices`);

    const list = await run(["token", "list", "--json"], { cwd });
    const [{ id = "", scopes = [] } = {}] = (
      JSON.parse(list.stdout) as { tokens: { id?: string; scopes?: string[] }[] }
    ).tokens;
    expect(scopes).toEqual(["read", "call"]);
    await run(["token", "revoke", id], { cwd });
    const revoked = await diagnose(cwd);
    expect(revoked.of("client token")).toMatchObject([
      { state: "warning", message: expect.stringContaining("the gateway rejects") },
    ]);
    fs.rmSync(file);
    expect((await diagnose(cwd)).of("client token")).toMatchObject([{ state: "ok" }]);
    expect((await gateway.end()).code).toBe(0);
  });
});

describe("tendon doctor on certificates", () => {
  const published = (name: string) => ({
    TENDON_HTTP_PUBLIC_URL: `https://${name}:8443`,
    TENDON_HTTP_HOST: "0.0.0.0",
    TENDON_MQTT_TLS_PORT: "0",
  });
  const files = ({ cert, key }: { cert: string; key: string }) => ({
    TENDON_TLS_CERT: cert,
    TENDON_TLS_KEY: key,
  });

  /** A certificate for 192.0.2.1, signed by a private authority. */
  function signed(days: number) {
    const authority = selfSigned("DNS:authority.example", 30);
    const file = (name: string) => path.join(path.dirname(authority.cert), name);
    const made = { cert: file("own.pem"), key: file("own.key") };
    const openssl = (...args: string[]) => execFileSync(program, args, { stdio: "ignore" });
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    openssl("req", ...curve, "-subj", "/CN=x", "-keyout", made.key, "-out", file("own.csr"));
    fs.writeFileSync(file("names"), "subjectAltName=IP:192.0.2.1\n");
    const by = ["-CA", authority.cert, "-CAkey", authority.key, "-CAcreateserial"];
    const what = ["-in", file("own.csr"), "-extfile", file("names"), "-out", made.cert];
    openssl("x509", "-req", ...by, ...what, "-days", String(days));
    fs.appendFileSync(made.cert, fs.readFileSync(authority.cert));
    return made;
  }

  it("reports a self-signed certificate, and one for another name", async () => {
    const own = selfSigned("IP:192.0.2.1", 30);
    const good = await diagnose(folder(), { ...files(own), ...published("192.0.2.1") });
    expect(good.of("certificate")).toMatchObject([{ state: "ok" }]);
    expect(good.of("authority")).toMatchObject([
      {
        state: "warning",
        message: expect.stringContaining("self-signed"),
        why: expect.stringContaining("Wi-Fi"),
      },
    ]);
    const named = await diagnose(folder(), { ...files(own), ...published("192.0.2.9") });
    expect(named.of("certificate's name")).toMatchObject([
      { state: "failed", message: expect.stringContaining("is not for 192.0.2.9") },
    ]);
  });

  it("reports a certificate of a private authority that expires soon, and an MQTT TLS port that boards cannot use", async () => {
    const env = { ...files(signed(5)), ...published("192.0.2.1"), TENDON_MQTT_TLS_PORT: "18885" };
    const { of } = await diagnose(folder(), env);
    expect(of("authority")).toMatchObject([
      { state: "warning", message: expect.stringContaining("is not signed by a public authority") },
    ]);
    expect(of("certificate")).toMatchObject([
      { state: "warning", message: expect.stringMatching(/expires in [45] days/) },
    ]);
    expect(of("MQTT address")).toMatchObject([{ state: "warning", message: "mqtt.tlsPort is 18885" }]);
  });

  it("reports an expired certificate, and a key that does not match", async () => {
    const old = signed(0);
    const expired = await diagnose(folder(), { ...files(old), ...published("192.0.2.1") });
    expect(expired.of("certificate")).toMatchObject([
      { state: "failed", message: expect.stringContaining("expired on") },
    ]);
    const other = selfSigned();
    const mixed = await diagnose(folder(), {
      ...files({ cert: old.cert, key: other.key }),
      ...published("192.0.2.1"),
    });
    expect(mixed.of("certificate")).toMatchObject([
      { state: "failed", message: expect.stringContaining("is not the key of") },
    ]);
  });
});
