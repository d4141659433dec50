/** `tendon backup` and `tendon restore`, of running and stopped gateways. */
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { gunzipSync, gzip, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OpenGateway, openGateway } from "./open-gateway.ts";
import { run, start, startServe, temporaryFolder } from "./run-tendon.ts";

const compress = promisify(gzip);
const folder = temporaryFolder();
const cwd = folder.path;
const at = (...names: string[]) => path.join(cwd, ...names);
afterAll(() => folder.remove());

interface Manifest {
  readonly schema: number | null;
  readonly files: readonly { readonly name: string; readonly size: number; readonly sha256: string }[];
}

const manifestOf = async (...args: string[]) => {
  const { code, stdout, stderr } = await run(["backup", ...args, "--json"], { cwd });
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as Manifest & { readonly leftOut: readonly string[] };
};
const mode = (file: string) => fs.statSync(file).mode & 0o777;

describe("a backup of a running gateway", () => {
  const board = "02:00:00:00:31:01";
  let gateway: OpenGateway;
  let token: string;
  beforeAll(async () => {
    gateway = await openGateway(cwd);
    ({ token } = JSON.parse((await run(["token", "create", "agent", "--json"], { cwd })).stdout) as {
      token: string;
    });
    fs.writeFileSync(at("data", "notes.txt"), "of a person");
    await run(["firmware", "sample", "image.bin", "--board", "esp-box-3"], { cwd });
    expect((await run(["firmware", "add", "image.bin", "--board", "esp-box-3"], { cwd })).code).toBe(0);
  });
  afterAll(async () => await gateway.end());

  it("is taken while calls are written, and restores devices, tokens, images and history", async () => {
    const device = start(["simulate", "esp32", "--id", board], { cwd });
    await device.until("stderr", /1 of 1 connected/);
    const { url } = gateway;
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    let calling = true;
    let made = 0;
    const calls = (async () => {
      for (; calling; made += 1) {
        const path = `/api/v1/devices/${board}/tools/self.audio_speaker.set_volume/call`;
        const body = JSON.stringify({ arguments: { volume: made % 100 } });
        expect((await fetch(`${url}${path}`, { method: "POST", headers, body })).status).toBe(200);
      }
    })();
    const manifest = await manifestOf("live.tar.gz");
    calling = false;
    await calls;
    await device.end();
    expect(made).toBeGreaterThan(0);
    const names = manifest.files.map(({ name }) => name);
    expect(names.slice(0, 4)).toEqual(["tendon.db", "device-secret", "admin-token", "node-id"]);
    expect(names.at(-1)).toMatch(/^firmware\/[\w-]+\.bin$/);
    expect(manifest.leftOut).toEqual(["notes.txt"]);
    expect(mode(at("live.tar.gz"))).toBe(0o600);
    expect(fs.readdirSync(cwd).filter((name) => name.includes(".part"))).toEqual([]);

    const restored = await run(["restore", "live.tar.gz", "--data", "copy"], { cwd });
    expect(restored).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringContaining("serve --data copy"),
    });
    expect([mode(at("copy")), mode(at("copy", "tendon.db")), mode(at("copy", "device-secret"))]).toEqual([
      0o700, 0o600, 0o600,
    ]);
    for (const { name, sha256 } of manifest.files)
      expect(
        createHash("sha256")
          .update(fs.readFileSync(at("copy", name)))
          .digest("hex"),
      ).toBe(sha256);
    const copy = await startServe(cwd, ["--data", "copy"]);
    const ask = async (what: string) =>
      (await (await fetch(`${copy.url}/api/v1/${what}`, { headers })).json()) as Record<
        string,
        { id?: string }[]
      >;
    expect((await ask("devices"))["devices"]?.map(({ id }) => id)).toEqual([board]);
    expect((await ask("calls"))["calls"]?.length).toBeGreaterThan(0);
    const images = await run(["firmware", "list", "--json", "--data", "copy"], { cwd });
    expect((JSON.parse(images.stdout) as { images: unknown[] }).images).toHaveLength(1);
    await copy.process.end();
  });

  it("never overwrites a file without --force", async () => {
    fs.writeFileSync(at("precious.tar.gz"), "precious");
    const refused = await run(["backup", "precious.tar.gz"], { cwd });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("exists already")]);
    expect(fs.readFileSync(at("precious.tar.gz"), "utf8")).toBe("precious");
    await manifestOf("precious.tar.gz", "--force");
    expect(fs.readFileSync(at("precious.tar.gz")).subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]));
    expect(mode(at("precious.tar.gz"))).toBe(0o600);
  });
});

describe("a backup of a stopped gateway", () => {
  const good = at("stopped.tar.gz");
  beforeAll(async () => {
    await (await openGateway(cwd)).end();
    await manifestOf("stopped.tar.gz");
  });
  const restore = async (file: string, to = "nowhere") => await run(["restore", file, "--data", to], { cwd });
  /** The archive with some of its bytes changed, under an intact compression. */
  const changed = async (name: string, change: (bytes: Buffer) => Buffer) => {
    fs.writeFileSync(at(name), await compress(change(gunzipSync(fs.readFileSync(good)))));
    return name;
  };
  const expectRefused = async (file: string, words: RegExp) => {
    const { code, stdout, stderr } = await restore(file);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(words);
    expect(stderr).not.toMatch(/bug| {4}at /);
    expect(fs.existsSync(at("nowhere"))).toBe(false);
  };

  it("can be read by tar", async () => {
    const { execFileSync } = await import("node:child_process");
    const listed = execFileSync("tar", ["tzf", good], { encoding: "utf8" }).split("\n");
    expect(listed.slice(0, 3)).toEqual(["manifest.json", "tendon.db", "device-secret"]);
  });

  it("is restored into a missing or an empty folder only", async () => {
    fs.mkdirSync(at("empty"));
    expect((await restore(good, "empty")).code).toBe(0);
    expect(fs.readdirSync(at("empty")).sort()).toEqual(
      expect.arrayContaining(["device-secret", "tendon.db"]),
    );
    const again = await restore(good, "empty");
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("empty is not empty (it has ")]);
  });

  it("is refused if it is truncated anywhere", async () => {
    const whole = fs.readFileSync(good);
    for (const length of [whole.length - 1, whole.length - 9, Math.floor(whole.length / 2), 20]) {
      fs.writeFileSync(at("short.tar.gz"), whole.subarray(0, length));
      await expectRefused(
        "short.tar.gz",
        /short\.tar\.gz is damaged \(it ends too early\)\. Nothing was restored/,
      );
    }
  });

  it("is refused if a part differs from its checksum, or is not one of a backup", async () => {
    const secret = fs.readFileSync(at("data", "device-secret"), "utf8").trim();
    const bad = await changed("bad.tar.gz", (bytes) => {
      bytes.write("\0", bytes.indexOf(secret));
      return bytes;
    });
    await expectRefused(bad, /damaged \(the checksum of device-secret differs\)/);
    const outside = await changed("outside.tar.gz", (bytes) =>
      Buffer.from(bytes.toString("latin1").replaceAll("device-secret", "../../secretx"), "latin1"),
    );
    await expectRefused(outside, /damaged \(it has a file \.\.\/\.\.\/secretx/);
  });

  it("is refused if it is another file", async () => {
    fs.writeFileSync(at("text.tar.gz"), "hello, this is not compressed at all");
    await expectRefused("text.tar.gz", /text\.tar\.gz is not a backup of Tendon/);
    fs.writeFileSync(at("other.gz"), gzipSync("x".repeat(2000)));
    await expectRefused("other.gz", /other\.gz is damaged \(it is not an archive of a backup\)/);
    await expectRefused("missing.tar.gz", /missing\.tar\.gz does not exist/);
  });

  it("is refused if it was made by a newer version", async () => {
    const newer = await changed("newer.tar.gz", (bytes) =>
      Buffer.from(bytes.toString("latin1").replace(/"schema": \d\d/, '"schema": 99'), "latin1"),
    );
    await expectRefused(
      newer,
      /newer version of Tendon \([\d.]+, schema 99\); this version supports schemas up to \d+/,
    );
  });
});

describe("a data folder without a database", () => {
  it("is refused with a hint", async () => {
    fs.mkdirSync(at("bare"));
    const none = await run(["backup", "none.tar.gz", "--data", "bare"], { cwd });
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("there is no database to back up")]);
    expect(fs.existsSync(at("none.tar.gz"))).toBe(false);
  });

  it("with PostgreSQL: names pg_dump, and saves the files of the folder when told so", async () => {
    fs.writeFileSync(at("bare", "device-secret"), "a-secret-of-a-cluster\n");
    const env = { TENDON_STORAGE: "postgres://user:hidden@127.0.0.1:1/tendon" };
    const refused = await run(["backup", "pg.tar.gz", "--data", "bare"], { cwd, env });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/in PostgreSQL.*pg_dump --format=custom.*--without-database/s);
    const saved = await run(["backup", "pg.tar.gz", "--data", "bare", "--without-database"], { cwd, env });
    expect(saved).toMatchObject({ code: 0, stdout: expect.stringContaining("no database") });
    const restored = await run(["restore", "pg.tar.gz", "--data", "bare-2"], { cwd });
    expect(restored).toMatchObject({ code: 0, stdout: expect.stringContaining("pg_restore") });
    expect(fs.readdirSync(at("bare-2"))).toEqual(["device-secret"]);
  });
});
