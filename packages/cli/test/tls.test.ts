/** Commands against a gateway with a self-signed certificate. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import tls from "node:tls";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeImage } from "../../../test/firmware-image.ts";
import { run, start, startServe, temporaryFolder } from "./run-tendon.ts";

const openssl = "openssl";
let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

/** Writes cert.pem and key.pem into the folder. */
function certify(name: string): void {
  const at = (file: string) => path.join(folder.path, file);
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const subject = ["-subj", "/CN=tendon", "-addext", `subjectAltName=${name}`];
  const made = ["-days", "2", "-keyout", at("next-key.pem"), "-out", at("next-cert.pem")];
  execFileSync(openssl, ["req", "-x509", ...curve, ...subject, ...made], { stdio: "ignore" });
  for (const part of ["key", "cert"]) fs.renameSync(at(`next-${part}.pem`), at(`${part}.pem`));
}

async function secured(port: number): Promise<boolean> {
  const socket = tls.connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  socket.destroy();
  return socket.encrypted;
}

const env = { TENDON_TLS_CERT: "cert.pem", TENDON_TLS_KEY: "key.pem", TENDON_MQTT_TLS_PORT: "0" };

describe("commands over TLS", () => {
  it("[TLS-3] trust the data folder's gateway, whatever name its certificate has", async () => {
    certify("DNS:somewhere.example");
    const cwd = folder.path;
    const { process, url } = await startServe(cwd, ["--demo"], env);
    expect(url).toMatch(/^https:/);
    const [, secure = ""] = await process.until(
      "stdout",
      /apps \(MQTT with TLS\) +mqtts:\/\/127\.0\.0\.1:(\d+)$/m,
    );
    await expect(secured(Number(secure))).resolves.toBe(true);
    expect(process.stdout).toMatch(/apps \(MQTT\) +mqtt:\/\/127\.0\.0\.1:\d+$/m);
    const listed = await run(["devices", "--json"], { cwd });
    expect(listed.stderr).toBe("");
    const { devices } = JSON.parse(listed.stdout) as { devices: { alias: string; online: boolean }[] };
    expect(devices.length).toBeGreaterThanOrEqual(2);
    expect(devices.every(({ online }) => online)).toBe(true);
    const alias = devices[0]?.alias ?? "";
    expect(await run(["call", alias, "self.get_device_status"], { cwd })).toMatchObject({ code: 0 });
    expect(await run(["device", "delete", "no-such-device"], { cwd })).toMatchObject({ code: 1 });
    const watch = start(["watch"], { cwd });
    await watch.until("stderr", /^watching;/m);
    const board = start(["simulate", "esp32", "--board", "tls-board"], { cwd });
    await board.until("stderr", /1 of 1 connected/);
    await watch.until("stdout", /device\.online/);
    for (const one of [watch, board]) await one.end();
    expect((await process.end()).code).toBe(0);
  });

  it("[TLS-1] upload firmware that boards download over TLS", async () => {
    certify("DNS:somewhere.example");
    const cwd = folder.path;
    const { process } = await startServe(cwd, [], env);
    fs.writeFileSync(
      path.join(cwd, "box.bin"),
      makeImage({ board: "tls-board", version: "2.6.0", codeBytes: 3_000_000 }),
    );
    const added = await run(["firmware", "add", "box.bin", "--board", "tls-board"], { cwd });
    expect(added).toMatchObject({ code: 0, stderr: "" });
    const boards = start(["simulate", "esp32", "--ota", "--count", "3", "--board", "tls-board"], { cwd });
    await boards.until("stderr", /3 of 3 connected/);
    const listed = await run(["firmware", "list"], { cwd });
    expect(listed.stdout).toMatch(/tls-board +2\.6\.0 +2\.9 MiB +100 % +offered +0 +0 +3 +0/);
    for (const one of [boards, process]) await one.end();
  });

  it("[TLS-3] trust NODE_EXTRA_CA_CERTS for a remote gateway, and suggest it when it is missing", async () => {
    certify("IP:127.0.0.1");
    const { process, url } = await startServe(folder.path, [], env);
    const token = fs.readFileSync(path.join(folder.path, "data", "admin-token"), "utf8").trim();
    const remote = ["devices", "--url", url, "--token", token, "--data", path.join(folder.path, "none")];
    const refused = await run(remote);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("is not trusted");
    expect(refused.stderr).toContain("NODE_EXTRA_CA_CERTS");
    const bare = await run(remote.map((word) => (word === url ? url.replace("https:", "http:") : word)));
    expect([bare.code, bare.stderr]).toEqual([1, expect.stringContaining("Use https://")]);
    const trusted = { NODE_EXTRA_CA_CERTS: path.join(folder.path, "cert.pem") };
    expect(await run(remote, { env: trusted })).toMatchObject({ code: 0, stderr: "" });
    await process.end();
  });

  it("[TLS-2] continue after SIGHUP made the gateway load a renewed certificate", async () => {
    certify("IP:127.0.0.1");
    const cwd = folder.path;
    const { process } = await startServe(cwd, [], env);
    certify("IP:127.0.0.1");
    process.signal("SIGHUP");
    await process.until("stderr", /"state":"renewed"/);
    expect(await run(["devices"], { cwd })).toMatchObject({ code: 0 });
    expect((await process.end()).code).toBe(0);
  });

  it("[TLS-1] show that MQTT is available with TLS only, after --mqtt-port off", async () => {
    certify("IP:127.0.0.1");
    const cwd = folder.path;
    const process = start(["serve", "--port", "0", "--mqtt-port", "off"], { cwd, env });
    const [, shown = ""] = await process.until("stdout", /apps \(MQTT with TLS\) +(\S+)[\s\S]*try /);
    expect(shown).toMatch(/^mqtts:/);
    expect(process.stdout).not.toMatch(/apps \(MQTT\)|mqtt:\/\//);
    expect(process.stdout).toContain(`devices (MQTT)         ${new URL(shown).host}`);
    const { stdout } = await run(["doctor"], { cwd });
    expect(stdout).not.toContain("off:");
    await process.end();
    const config = await run(["config", "check"], { cwd, env: { TENDON_MQTT_PORT: "on" } });
    expect(config.stderr + config.stdout).toContain("must be a whole number from 0 to 65535, or off");
  });

  it("[TLS-1] report a key that does not match the certificate in one sentence", async () => {
    certify("IP:127.0.0.1");
    const key = fs.readFileSync(path.join(folder.path, "key.pem"));
    certify("IP:127.0.0.1");
    fs.writeFileSync(path.join(folder.path, "key.pem"), key);
    const { code, stderr } = await run(["serve", "--port", "0", "--mqtt-port", "0"], {
      cwd: folder.path,
      env,
    });
    expect(code).toBe(1);
    expect(stderr).toContain("tendon: tls.key (key.pem) is not the key of tls.cert (cert.pem).");
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});
