import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OpenGateway, openGateway } from "./open-gateway.ts";
import { run, start, startServe, temporaryFolder } from "./run-tendon.ts";

interface OtaReply {
  readonly mqtt?: { readonly client_id: string };
  readonly websocket?: { readonly url: string };
  readonly activation?: { readonly code: string; readonly challenge: string };
}

async function ota(url: string, deviceId: string, clientId = "a-client"): Promise<OtaReply> {
  const answer = await fetch(`${url}/xiaozhi/ota/`, {
    method: "POST",
    headers: { "device-id": deviceId, "client-id": clientId, "user-agent": "bread-compact-wifi/2.4.2" },
    body: "{}",
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as OtaReply;
}

async function codeOf(url: string, deviceId: string, clientId?: string): Promise<string> {
  return (await ota(url, deviceId, clientId)).activation?.code ?? "";
}

describe("tendon device", () => {
  const folder = temporaryFolder();
  const cwd = folder.path;
  let gateway: OpenGateway;
  let url: string;

  beforeAll(async () => {
    gateway = await openGateway(cwd);
    ({ url } = gateway);
  });
  afterAll(async () => {
    await gateway.end();
    folder.remove();
  });

  it("pending and approve: approves a board by the code it shows", async () => {
    const id = "02:00:00:00:00:01";
    expect((await run(["device", "pending"], { cwd })).stdout).toContain(
      "No devices are waiting for approval",
    );
    const code = await codeOf(url, id);
    const pending = await run(["device", "pending"], { cwd });
    expect(pending.stdout).toMatch(/02:00:00:00:00:01\s+bread-compact-wifi\s+2\.4\.2\s+127\.0\.0\.1/);
    expect(pending.stdout).not.toContain(code);
    const json = await run(["device", "pending", "--json"], { cwd });
    expect(JSON.parse(json.stdout)).toMatchObject({ pending: [{ device: id }], total: 1 });
    const spoken = `${code.slice(0, 3)} ${code.slice(3)}`;
    const approved = await run(["device", "approve", spoken], { cwd });
    expect([approved.code, approved.stdout]).toEqual([
      0,
      `device-0001 (${id}) is approved: it gets its settings within seconds\n`,
    ]);
    expect((await ota(url, id)).mqtt?.client_id).toContain("a-client");
    const again = await run(["device", "approve", code], { cwd });
    expect(again.code).toBe(1);
    expect(again.stderr).toContain("device_unknown: no board shows this code now");
  });

  it("approve: approves a factory-new virtual board", async () => {
    const id = "02:00:00:00:77:01";
    const waits = ["simulate", "esp32", "--await-approval", "--id", id];
    const board = start(waits, { cwd });
    const [, code = ""] = await board.until(
      "stdout",
      /shows the code (\d{6}); approve it with `(?:node \S+tendon\.js|tendon) device approve \1`/,
    );
    expect((await run(["device", "pending"], { cwd })).stdout).toContain(id);
    expect((await run(["devices", "--online"], { cwd })).stdout).not.toContain(id);
    expect((await run(["device", "approve", code], { cwd })).stdout).toContain(`(${id}) is approved`);
    await board.until("stderr", /1 of 1 connected/);
    expect((await run(["devices", "--online"], { cwd })).stdout).toContain(id);
    expect((await board.end()).code).toBe(0);
  });

  it("--await-approval shows a code for a known id too, and uses a new id unless one is given", async () => {
    const id = "02:00:00:00:79:01";
    const fleet = start(["simulate", "esp32", "--count", "2", "--id", id], { cwd });
    await fleet.until("stderr", /2 of 2 connected/);
    expect((await fleet.end()).code).toBe(0);
    const codes = /(\S+) {2}shows the code (\d{6});/;
    const [erased, fresh] = [["--id", id], []].map((ids) =>
      start(["simulate", "esp32", "--await-approval", ...ids], { cwd }),
    );
    const [, , code = ""] = (await erased?.until("stdout", codes)) ?? [];
    const [, newId = ""] = (await fresh?.until("stdout", codes)) ?? [];
    expect(erased?.stderr).toContain(`${id} starts as a new board, with a new Client-Id\n`);
    expect(fresh?.stderr).toContain(`${newId} starts as a new board, with a new id and Client-Id\n`);
    expect(newId).toMatch(/^02(:[0-9a-f]{2}){3}:00:01$/);
    expect((await run(["devices"], { cwd })).stdout).not.toContain(newId);
    expect((await run(["device", "approve", code], { cwd })).stdout).toContain(`(${id}) is approved`);
    await erased?.until("stderr", /1 of 1 connected/);
    for (const board of [erased, fresh]) expect((await board?.end())?.code).toBe(0);
  });

  it.each(["--await-approval", "--ota"])(
    "%s rejects --transport, because the gateway chooses it",
    async (flag) => {
      for (const transport of ["ws", "mqtt"]) {
        const refused = await run(["simulate", "esp32", flag, "--transport", transport], { cwd });
        expect(refused).toMatchObject({ code: 2, stdout: "" });
        expect(refused.stderr).toContain(`With ${flag} the gateway chooses the transport`);
        expect(refused.stderr).toContain("device transport ID websocket");
      }
    },
  );

  it("simulate rejects --transport mqtt with a WebSocket address", async () => {
    const url = "ws://127.0.0.1:9/xiaozhi/v1/";
    const refused = await run(["simulate", "esp32", "--transport", "mqtt", "--url", url], { cwd });
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("Remove --transport mqtt");
  });

  it("simulate prints the codes of many boards, one per line", async () => {
    const ids = ["--id", "02:00:00:00:78:01", "--count", "5"];
    const boards = start(["simulate", "esp32", "--await-approval", ...ids], { cwd });
    await boards.until("stdout", /(.*shows the code \d{6}.*\n){5}/);
    expect((await boards.end()).code).toBe(0);
  });

  it("approve by id: pending marks a board with a known id, and approving it reports the replacement", async () => {
    const id = "02:00:00:00:00:02";
    await codeOf(url, id);
    expect((await run(["device", "approve", id, "--json"], { cwd })).stdout).toContain(
      '"approval":"approved"',
    );
    await codeOf(url, id, "a-copy");
    expect((await run(["device", "pending"], { cwd })).stdout).toContain(
      "replaces another board with this id",
    );
    const replaced = await run(["device", "approve", id], { cwd });
    expect(replaced.stdout).toContain("the credentials of the previous board are revoked");
    expect((await run(["devices"], { cwd })).stdout).toContain(id);
  });

  it("transport changes how a device connects, and revoke takes its credentials", async () => {
    const id = "02:00:00:00:00:03";
    await run(["device", "approve", await codeOf(url, id)], { cwd });
    const changed = await run(["device", "transport", id, "websocket"], { cwd });
    expect(changed.stdout).toContain("will use websocket the next time it starts");
    expect((await ota(url, id)).websocket?.url).toMatch(/^ws:/);
    expect((await run(["device", "transport", id, "pigeon"], { cwd })).code).toBe(2);
    expect((await run(["device", "transport", id, "default"], { cwd })).code).toBe(0);
    expect((await ota(url, id)).mqtt).toBeDefined();
    const revoked = await run(["device", "revoke", id], { cwd });
    expect(revoked.stdout).toContain(`(${id}) is revoked: its credentials are no longer valid`);
    expect((await run(["devices"], { cwd })).stdout).toMatch(/02:00:00:00:00:03\s+revoked/);
    expect((await ota(url, id)).activation?.code).toMatch(/^\d{6}$/);
    expect((await run(["device", "revoke", "no-such-device"], { cwd })).code).toBe(1);
  });

  it("simulate provisions its devices with a `provision` token", async () => {
    const made = await run(["token", "create", "factory", "--scope", "provision", "--json"], { cwd });
    const { token } = JSON.parse(made.stdout) as { token: string };
    const fleet = start(["simulate", "esp32", "--count", "3", "--transport", "mqtt", "--token", token], {
      cwd,
    });
    await fleet.until("stderr", /3 of 3 connected/);
    expect((await fleet.end()).code).toBe(0);
  });
});

describe("a killed gateway", () => {
  const folder = temporaryFolder();
  afterAll(() => folder.remove());

  it("[OTA-5] keeps the codes of waiting boards and the approvals given just before", async () => {
    const cwd = folder.path;
    const first = await startServe(cwd);
    const waiting = await ota(first.url, "02:00:00:00:00:01");
    const code = await codeOf(first.url, "02:00:00:00:00:02");
    expect((await run(["device", "approve", code], { cwd })).code).toBe(0);
    await first.process.end("SIGKILL");
    const second = await startServe(cwd);
    expect((await ota(second.url, "02:00:00:00:00:01")).activation).toEqual(waiting.activation);
    expect((await ota(second.url, "02:00:00:00:00:02")).mqtt?.client_id).toContain("a-client");
    const approved = await run(["device", "approve", waiting.activation?.code ?? ""], { cwd });
    expect(approved.code).toBe(0);
    expect((await second.process.end()).code).toBe(0);
  });
});

describe("tendon device import", () => {
  const folder = temporaryFolder();
  const cwd = folder.path;
  let gateway: OpenGateway;
  let url: string;

  beforeAll(async () => {
    gateway = await openGateway(cwd, { env: { TENDON_DEVICES_ADMISSION: "list" } });
    ({ url } = gateway);
  });
  afterAll(async () => {
    await gateway.end();
    folder.remove();
  });

  function write(name: string, lines: readonly string[]): string {
    fs.writeFileSync(path.join(cwd, name), lines.join("\n"));
    return name;
  }

  const key = randomBytes(32).toString("hex");

  it.each([
    [
      "CSV",
      "fleet.csv",
      [
        "\uFEFFMAC , Serial Number,HMAC_Key,tags\r",
        "\r",
        `02-00-00-00-00-01,SN-1,${key},"fleet line-7"\r`,
        '"02:00:00:00:00:02","","",\r',
      ],
    ],
    [
      "JSON lines",
      "fleet.jsonl",
      [
        JSON.stringify({ id: "020000000001", serial: "SN-1", hmac_key: key, tags: ["fleet", "line-7"] }),
        "",
        '{"id":"02:00:00:00:00:02","serial":null}',
      ],
    ],
  ])("imports %s, and again with the same result", async (_, name, lines) => {
    const file = write(name, lines);
    for (let round = 0; round < 2; round += 1) {
      const done = await run(["device", "import", file], { cwd });
      expect([done.code, done.stdout]).toEqual([0, "2 devices imported, 2 in total\n"]);
      expect(done.stdout + done.stderr).not.toContain(key);
    }
    const json = await run(["device", "import", file, "--json"], { cwd });
    expect(JSON.parse(json.stdout)).toEqual({ imported: 2, total: 2 });
    expect((await ota(url, "02:00:00:00:00:02")).mqtt).toBeDefined();
    expect((await ota(url, "02:00:00:00:00:01")).activation?.challenge).toBeDefined();
    expect(Object.keys(await ota(url, "02:00:00:00:00:03")).sort()).toEqual(["firmware", "server_time"]);
  });

  it("imports and unimport: lists the missing devices, and removes one", async () => {
    const file = write("two.csv", [
      "id,serial,hmac_key,tags",
      `0200000000a1,SN-a1,${key},batch-9`,
      "0200000000a2,,,batch-9",
    ]);
    expect((await run(["device", "import", file], { cwd })).code).toBe(0);
    const listed = await run(["device", "imports", "--missing", "--tag", "batch-9"], { cwd });
    expect(listed.stdout).toMatch(/^ID +SERIAL +KEY +TAGS +IMPORTED +LAST SEEN\n/);
    expect(listed.stdout).toMatch(/\n02:00:00:00:00:a1 +SN-a1 +yes +batch-9 +\d+ s ago +never\n/);
    expect(listed.stdout + listed.stderr).not.toContain(key);
    const one = await run(["device", "imports", "--search", "batch", "--limit", "1"], { cwd });
    expect(one.stdout).not.toContain("02:00:00:00:00:a2");
    expect(one.stderr).toContain("Showing 1 of 2 imported devices.");
    const removed = await run(["device", "unimport", "02:00:00:00:00:a1"], { cwd });
    expect([removed.code, removed.stdout]).toEqual([
      0,
      "02:00:00:00:00:a1 is removed from the imported list; a device that has credentials keeps them\n",
    ]);
    const again = await run(["device", "unimport", "02:00:00:00:00:a1"], { cwd });
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("device_unknown")]);
    const json = await run(["device", "imports", "--tag", "batch-9", "--json"], { cwd });
    expect(JSON.parse(json.stdout)).toMatchObject({ imports: [{ id: "02:00:00:00:00:a2" }], total: 1 });
    await run(["device", "unimport", "02:00:00:00:00:a2"], { cwd });
    expect((await run(["device", "imports", "--connected"], { cwd })).stdout).toBe(
      "No matching imported devices.\n",
    );
    expect((await run(["device", "imports", "--connected", "--missing"], { cwd })).code).toBe(2);
    expect((await run(["device", "imports", "--imported-at", "today"], { cwd })).code).toBe(2);
  });

  it("names every invalid line, imports nothing, and prints no key", async () => {
    const short = `${key}ff`;
    const file = write("bad.csv", [
      "id,serial,hmac_key,tags",
      `02:00:00:00:00:01,SN-1,${short},`,
      "not an id,SN-2,,",
      `02:00:00:00:00:02,,${key},`,
      "02:00:00:00:00:03,SN-3,,a/b",
      "02:00:00:00:00:04,SN-4",
      '"02:00:00:00:00:05,SN-5,,',
      "02:00:00:00:00:06,SN-6,,",
      "02-00-00-00-00-06,SN-7,,",
      "02:00:00:00:00:07,SN-6,,",
      "24:6f:28:aa:bb:zz,SN-8,,",
      "lamp_1,SN-9,,",
    ]);
    const { code, stdout, stderr } = await run(["device", "import", file], { cwd });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr.trim().split("\n")).toEqual([
      "tendon: Nothing was imported:",
      "bad.csv:2: the key must be 32 bytes in hex",
      "bad.csv:3: the id is missing or invalid",
      "bad.csv:4: a key needs a serial number",
      "bad.csv:5: at most 32 tags, each of 1 to 64 letters, digits and _.:-",
      "bad.csv:6: 2 fields, but the header has 4",
      "bad.csv:7: unbalanced quotes",
      "bad.csv:9: the same id as line 8",
      "bad.csv:10: the same serial number as line 8",
      "bad.csv:11: the id looks like a MAC address, but group 6 is not two hexadecimal digits (0-9, a-f)",
    ]);
    expect(stderr).not.toContain(key);
    expect((await ota(url, "02:00:00:00:00:06")).mqtt).toBeUndefined();
  });

  it.each([
    [
      "no header",
      ["02:00:00:00:00:01,SN-1"],
      ":1: the first line must name the columns: id, serial, hmac_key, tags\n",
    ],
    ["an unknown column", ["id,colour", "x,red"], "columns: id, serial, hmac_key, tags; `colour` is unknown"],
    ["no rows", ["id,serial"], "contains no devices"],
    [
      "an id in the column `mac` that is not a MAC address",
      ["mac", "02:00:00:00:00:01", "lamp_1"],
      ":3: the column is named mac, but the id is not a MAC address",
    ],
    [
      "a MAC address written with dots",
      ['{"id":"246f.28aa.bbcc"}'],
      ":1: the id looks like a MAC address, but is written with dots: write it as aa:bb:cc:dd:ee:ff",
    ],
    ["a line that is not JSON", ['{"id":"02:00:00:00:00:01"}', "{oops"], ":2: not a JSON object"],
    [
      "an unknown field",
      ['{"id":"02:00:00:00:00:01","colour":1}'],
      ":1: allowed fields are id, serial, hmac_key, tags, each at most once; `colour` is unknown",
    ],
  ])("rejects a file with %s", async (_, lines, message) => {
    const { code, stderr } = await run(["device", "import", write("odd", lines)], { cwd });
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });

  it("reports a missing file, and a token without the right", async () => {
    expect((await run(["device", "import", "nowhere.csv"], { cwd })).stderr).toContain(
      "nowhere.csv does not exist",
    );
    const made = await run(["token", "create", "reader", "--scope", "read", "--json"], { cwd });
    const { token } = JSON.parse(made.stdout) as { token: string };
    const file = write("one.csv", ["id", "02:00:00:00:00:01"]);
    const refused = await run(["device", "import", file, "--token", token], { cwd });
    expect([refused.code, refused.stderr.includes("forbidden")]).toEqual([1, true]);
    const line = ["token", "create", "line", "--scope", "provision", "--tag", "line-7"];
    const limited = (await run(line, { cwd })).stdout.trim();
    const untagged = await run(["device", "import", file, "--token", limited], { cwd });
    expect([untagged.code, untagged.stderr]).toEqual([
      1,
      `tendon: Nothing was imported:\n${file}:2: tags must have a tag of this token: line-7\n`,
    ]);
  });

  it("imports 20,000 rows in batches and shows progress", async () => {
    const rows = 20_000;
    const mac = (index: number) => (0x0a_00_00_00_00_00 + index).toString(16).padStart(12, "0");
    const line = (_: unknown, index: number) => `${mac(index)},SN-${index},${key},fleet`;
    const file = write("large.csv", ["id,serial,hmac_key,tags", ...Array.from({ length: rows }, line)]);
    const { code, stdout, stderr } = await run(["device", "import", file], { cwd });
    expect([code, stdout]).toEqual([0, `${rows} devices imported, ${rows + 2} in total\n`]);
    expect(stderr).toContain("10000 of 20000 (50 %)");
    const last = `0a:00:00:${(
      mac(rows - 1)
        .slice(6)
        .match(/../g) ?? []
    ).join(":")}`;
    expect((await ota(url, last)).activation?.challenge).toBeDefined();
  }, 120_000);
});
