import fs from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeImage } from "../../../test/firmware-image.ts";
import { type OpenGateway, openGateway } from "./open-gateway.ts";
import { run, start, temporaryFolder } from "./run-tendon.ts";

const folder = temporaryFolder();
const cwd = folder.path;
let gateway: OpenGateway;

beforeAll(async () => {
  gateway = await openGateway(cwd);
});

afterAll(async () => {
  await gateway.end();
  folder.remove();
});

function write(name: string, image: Buffer): string {
  const file = path.join(cwd, name);
  fs.writeFileSync(file, image);
  return file;
}

async function firmware(...args: string[]) {
  return await run(["firmware", ...args], { cwd });
}

describe("tendon firmware", () => {
  it("adds, lists, shares, halts, resumes and removes an image", async () => {
    expect((await firmware("list")).stdout).toContain("No images");
    const file = write("box.bin", makeImage({ codeBytes: 2_000_000 }));
    const added = await firmware("add", file, "--board", "esp-box-3", "--share", "10%");
    expect(added).toMatchObject({ code: 0, stderr: "" });
    const [, id = ""] = /^(\S+) {2}esp-box-3 2\.5\.0 \(esp32s3, 1\.9 MiB\)$/m.exec(added.stdout) ?? [];
    expect(id).not.toBe("");
    expect(added.stdout).toContain("offered to 10 % of the boards");
    expect((await firmware("list")).stdout).toMatch(
      /esp-box-3 +2\.5\.0 +1\.9 MiB +10 % +offered +0 +0 +0 +0/,
    );
    expect((await firmware("share", id, "50%")).stdout).toContain("esp-box-3 2.5.0, 50 %, offered");
    expect((await firmware("halt", id)).stdout).toContain("halted: halted by admin");
    expect((await firmware("resume", id, "--retry")).stdout).toContain("50 %, offered");
    const shown = await firmware("show", id, "--json");
    expect(JSON.parse(shown.stdout)).toMatchObject({ id, share: 50, state: "offered", failures: [] });
    expect(await firmware("remove", id)).toMatchObject({ code: 0 });
    expect(JSON.parse((await firmware("list", "--json")).stdout)).toEqual({ images: [] });
  });

  it("offers an image by tag, and changes the tags", async () => {
    const file = write("tagged.bin", makeImage());
    const added = await firmware("add", file, "--tag", "lab", "--tag", "beta", "--board", "esp-box-3");
    expect(added.stdout).toContain(
      "It is offered to all boards with that name and one of the tags lab, beta the next time they start.",
    );
    const [id = ""] = added.stdout.split(" ");
    expect((await firmware("list")).stdout).toMatch(/ SHARE +TAGS +STATE .*\n.* 100 % +lab beta +offered /);
    const changed = await firmware("tag", id, "office");
    expect(changed.stdout).toContain("esp-box-3 2.5.0, 100 % with the tag office, offered");
    const none = await firmware("tag", id);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("Name the tags, or use --all")]);
    expect((await firmware("tag", id, "lab", "--all")).code).toBe(2);
    expect((await firmware("tag", id, "a b")).stderr).toContain("bad_request");
    expect((await firmware("tag", id, "--all")).stdout).toContain("esp-box-3 2.5.0, 100 %, offered");
    expect((await firmware("remove", id)).code).toBe(0);
  });

  it("explains an invalid file, share or id in one sentence", async () => {
    const page = write("page.bin", Buffer.from("<!doctype html>"));
    const good = write("good.bin", makeImage());
    for (const [args, code, text] of [
      [["add", page, "--board", "esp-box-3"], 1, "does not begin as a firmware image does"],
      [["add", path.join(cwd, "no.bin"), "--board", "esp-box-3"], 1, "no.bin (ENOENT"],
      [["add", good], 2, "--board"],
      [["add", good, "--board", "esp-box-3", "--share", "most"], 2, "Invalid share `most`"],
      [["add", good, "--board", "esp-box-3", "--share", "101%"], 2, "Invalid share `101%`"],
      [["add", good, "--board", "esp-box-3", "--version", "3.0"], 1, "its version is 2.5.0, not 3.0"],
      [["add", good, "--board", "other"], 1, "not built for other"],
      [["share", "no-such-image", "5%"], 1, "not_found"],
      [["polish"], 2, "polish"],
    ] as const) {
      const refused = await firmware(...args);
      expect([args, refused.code]).toEqual([args, code]);
      expect(refused.stderr).toContain(text);
      expect(refused.stderr).not.toMatch(/\n\s+at /);
    }
  });

  it("sample: writes an image that the gateway accepts and virtual boards run", async () => {
    const wrote = await firmware("sample", "sample.bin", "--json");
    expect([wrote.code, wrote.stderr]).toEqual([0, ""]);
    const size = fs.statSync(path.join(cwd, "sample.bin")).size;
    expect(JSON.parse(wrote.stdout)).toEqual({
      file: "sample.bin",
      board: "virtual-esp32",
      version: "2.5.0",
      size,
    });
    const added = await firmware("add", "sample.bin", "--board", "virtual-esp32", "--json");
    expect([added.code, added.stderr]).toEqual([0, ""]);
    const { id } = JSON.parse(added.stdout) as { id: string };
    const board = start(["simulate", "esp32", "--ota", "--id", "02:00:00:00:30:01"], { cwd });
    await board.until("stderr", /1 of 1 connected/);
    expect((await firmware("show", id)).stdout).toContain("0 offered, 0 fetched, 1 updated, 0 failed");
    await board.end();
    expect(await firmware("remove", id)).toMatchObject({ code: 0 });
  });

  it("sample: prints what it wrote, overwrites no other file, and explains invalid options", async () => {
    const box = ["sample", "a-box.bin", "--board", "esp-box-3", "--version", "3.0.1"];
    for (let round = 0; round < 2; round += 1) {
      const wrote = await firmware(...box);
      expect([wrote.code, wrote.stdout]).toEqual([
        0,
        "a-box.bin: esp-box-3 3.0.1, for virtual boards only\n",
      ]);
    }
    const kept = write("kept.bin", Buffer.from("of a real board"));
    for (const [args, code, text] of [
      [["sample"], 2, "missing required argument 'file'"],
      [["sample", "kept.bin"], 1, "kept.bin exists already and differs"],
      [["sample", "no/such/folder.bin"], 1, "Cannot write no/such/folder.bin"],
      [["sample", "x.bin", "--version", "v2"], 2, 'invalid firmware version "v2"; use a form such as 2.5.0'],
      [["sample", "x.bin", "--board", "my board"], 2, 'invalid board name "my board"'],
    ] as const) {
      const refused = await firmware(...args);
      expect([args, refused.code, refused.stdout]).toEqual([args, code, ""]);
      expect(refused.stderr).toContain(text);
    }
    expect(fs.readFileSync(kept, "utf8")).toBe("of a real board");
    expect(fs.existsSync(path.join(cwd, "x.bin"))).toBe(false);
  });

  it("updates virtual boards that request their settings at boot, and shows the boards that failed", async () => {
    const file = write("virtual.bin", makeImage({ board: "virtual-esp32", version: "2.6.0" }));
    const added = await firmware("add", file, "--board", "virtual-esp32", "--json");
    const { id } = JSON.parse(added.stdout) as { id: string };
    const boards = start(["simulate", "esp32", "--ota", "--count", "2"], { cwd });
    await boards.until("stderr", /2 of 2 connected/);
    const broken = start(
      ["simulate", "esp32", "--ota", "--id", "02:00:00:00:20:01", "--fault", "rolled-back-update"],
      { cwd },
    );
    await broken.until("stderr", /1 of 1 connected/);
    const shown = await firmware("show", id);
    expect(shown.stdout).toContain("0 offered, 0 fetched, 2 updated, 1 failed");
    expect(shown.stdout).toMatch(/02:00:00:00:20:01 +the device restarted with 2\.4\.2/);
    const { stdout } = await run(["devices"], { cwd });
    expect(stdout.match(/virtual-esp32 +2\.6\.0/g)).toHaveLength(2);
    for (const one of [boards, broken]) await one.end();
  });
});
