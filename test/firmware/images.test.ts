/** Uploading images: permissions, accepted files, and errors. */
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeImage } from "../firmware-image.ts";
import { askAll, asObject } from "../http-client.ts";
import { until } from "../inbox.ts";
import { adminToken, openSite, type Site } from "../site.ts";
import { handIn, offerOf } from "./boards.ts";

function filesOf(site: Site): string[] {
  return fs.readdirSync(path.join(site.folder, "firmware"));
}

function broken(at: number, value: number): Buffer {
  const image = makeImage();
  image[at] = value;
  return image;
}

describe("an image", () => {
  it("[FWU-1] is accepted with its own description, and stored as a private file", async () => {
    const site = await openSite();
    const image = makeImage({ version: "2.5.1", codeBytes: 50_000 });
    const added = await handIn(site, image, { share: "10", version: "2.5.1" });
    expect(added.status).toBe(201);
    expect(added.body).toMatchObject({
      board: "esp-box-3",
      version: "2.5.1",
      chip: "esp32s3",
      project: "xiaozhi",
      size: image.length,
      share: 10,
      tags: [],
      force: false,
      state: "offered",
      haltedReason: null,
      here: true,
      devices: { offered: 0, fetched: 0, updated: 0, failed: 0 },
      failures: [],
    });
    expect(added.body).not.toHaveProperty("file");
    const [file = ""] = filesOf(site);
    expect(file).toBe(`${String(added.body["id"])}.bin`);
    expect(fs.statSync(path.join(site.folder, "firmware", file)).mode & 0o777).toBe(0o600);
    expect(fs.readFileSync(path.join(site.folder, "firmware", file)).equals(image)).toBe(true);
    const { failures: _failures, ...listed } = added.body;
    expect((await site.rest("GET", "/firmware")).body).toEqual({ images: [listed] });
  });

  it.each([
    ["nothing", Buffer.alloc(0), {}, "0xE9"],
    ["a web page", Buffer.from("<!doctype html>"), {}, "0xE9"],
    ["a bootloader", broken(32, 0x50), {}, "bootloader"],
    ["an unknown chip", broken(12, 0x77), {}, "chip"],
    ["a flipped bit", broken(400, 0x55), {}, "damaged"],
    ["half of it", makeImage().subarray(0, 2_000), {}, "cut short"],
    ["another digest", broken(makeImage().length - 1, 0), {}, "digest does not match"],
    ["a version with a letter", makeImage({ version: "v2.5.0" }), {}, "numbers and dots"],
    ["no version", makeImage({ version: "" }), {}, "numbers and dots"],
    ["a version with control characters", makeImage({ version: "2.5\u001b[2J" }), {}, "`2.5?[2J`"],
    ["another version than it was said to have", makeImage(), { version: "2.6.0" }, "2.5.0, not 2.6.0"],
    ["another board", makeImage(), { board: "esp-box" }, "not built for esp-box"],
  ])(
    "[FWU-1] with %s is refused, leaves nothing behind, and it is said why",
    async (_, image, query, why) => {
      const site = await openSite();
      const refused = await handIn(site, image, query);
      expect([refused.status, refused.body["code"]]).toEqual([400, "bad_request"]);
      expect(refused.body["detail"]).toContain(why);
      expect(filesOf(site)).toEqual([]);
      expect((await site.rest("GET", "/firmware")).body).toEqual({ images: [] });
    },
  );

  it.each([
    ["no board", { board: "" }],
    ["a board that is a path", { board: "../../etc" }],
    ["a share beyond all", { share: "101" }],
    ["a share that is none", { share: "many" }],
    ["something unknown", { colour: "red" }],
  ])("[FWU-1] with %s in its address is a bad request", async (_, query) => {
    const site = await openSite();
    expect(await handIn(site, makeImage(), query as Record<string, string>)).toMatchObject({
      status: 400,
      body: { code: "bad_request" },
    });
  });

  it("[FWU-1] is accepted for a board that it does not name only with anyBoard", async () => {
    const site = await openSite();
    const added = await handIn(site, makeImage(), { board: "my-own", anyBoard: "true" });
    expect(added.status).toBe(201);
    expect(await offerOf(site, { board: "my-own" })).toMatchObject({ version: "2.5.0" });
  });

  it("[FWU-1] larger than any flash is rejected during the upload", async () => {
    const site = await openSite();
    const refused = await handIn(site, Buffer.alloc(17 * 1024 * 1024, 0xe9)).catch(() => undefined);
    // A client that keeps sending may be disconnected before it reads the answer.
    if (refused !== undefined)
      expect(refused).toMatchObject({ status: 413, body: { code: "payload_too_large" } });
    await until(() => filesOf(site).length === 0, "an empty folder");
    expect((await site.rest("GET", "/firmware")).body).toEqual({ images: [] });
  });

  it("[FWU-1] whose upload breaks off leaves no file, and does not block the next", async () => {
    const site = await openSite();
    const image = makeImage({ codeBytes: 100_000 });
    for (let time = 0; time < 4; time += 1) {
      const socket = net.connect(Number(new URL(site.url).port), "127.0.0.1");
      onTestFinished(() => void socket.destroy());
      socket.on("error", () => undefined);
      socket.write(
        `POST /api/v1/firmware?board=esp-box-3 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${adminToken}\r\n` +
          `Content-Type: application/octet-stream\r\nContent-Length: ${image.length}\r\n\r\n`,
      );
      socket.write(image.subarray(0, 50_000));
      await until(() => filesOf(site).length > 0, "the beginning of a file");
      socket.destroy();
      await until(() => filesOf(site).length === 0, "an empty folder");
    }
    expect((await handIn(site, image)).status).toBe(201);
  });

  it("[FWU-2] is unique for a board and a version", async () => {
    const site = await openSite();
    const results = await Promise.all([handIn(site, makeImage()), handIn(site, makeImage())]);
    expect(results.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect(await handIn(site, makeImage({ codeBytes: 99 }))).toMatchObject({
      status: 409,
      body: { code: "conflict", detail: "esp-box-3 already has an image of version 2.5.0" },
    });
    expect(filesOf(site).length).toBe(1);
  });

  it("[FWU-1] is rejected as busy when two others are being uploaded", async () => {
    const site = await openSite();
    const sockets = [1, 2].map(() => {
      const socket = net.connect(Number(new URL(site.url).port), "127.0.0.1");
      onTestFinished(() => void socket.destroy());
      socket.on("error", () => undefined);
      socket.write(
        `POST /api/v1/firmware?board=esp-box-3 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${adminToken}\r\n` +
          "Content-Type: application/octet-stream\r\nContent-Length: 1000\r\n\r\nbeginning",
      );
      return socket;
    });
    await until(() => filesOf(site).length === 2);
    expect(await handIn(site, makeImage())).toMatchObject({ status: 503, body: { code: "busy" } });
    for (const socket of sockets) socket.destroy();
    await until(async () => (await handIn(site, makeImage())).status === 201);
  });

  it("is no longer offered when its file is missing or changed, and is marked so", async () => {
    const site = await openSite();
    const { id } = (await handIn(site, makeImage())).body;
    const file = path.join(site.folder, "firmware", `${String(id)}.bin`);
    const other = makeImage();
    other[500] = 0;
    fs.writeFileSync(file, other);
    expect(await offerOf(site)).toBeUndefined();
    expect((await site.rest("GET", `/firmware/${String(id)}`)).body["here"]).toBe(false);
    fs.rmSync(file);
    expect(await offerOf(site)).toBeUndefined();
    fs.writeFileSync(file, makeImage());
    expect(await offerOf(site)).toMatchObject({ version: "2.5.0" });
    expect((await site.rest("DELETE", `/firmware/${String(id)}`)).status).toBe(204);
    expect(filesOf(site)).toEqual([]);
    expect((await site.rest("DELETE", `/firmware/${String(id)}`)).status).toBe(404);
  });
});

describe("a token without admin", () => {
  it.each([["read", "call"], ["call:user"], ["provision"]])(
    "[FWU-2] with the scopes %s is rejected on every route, before the body is read",
    async (...scopes) => {
      const site = await openSite();
      const { id } = (await handIn(site, makeImage())).body;
      const made = await site.rest("POST", "/tokens", { name: "some", scopes });
      const headers = { authorization: `Bearer ${String(made.body["token"])}` };
      const at = `/firmware/${String(id)}`;
      const answers = [
        await site.rest("GET", "/firmware", undefined, headers),
        await site.rest("GET", at, undefined, headers),
        await site.rest("PATCH", at, { share: 1 }, headers),
        await site.rest("DELETE", at, undefined, headers),
        await handIn(site, makeImage({ version: "9.9.9" }), {}, String(made.body["token"])),
      ];
      for (const { status, body } of answers) expect([status, body["code"]]).toEqual([403, "forbidden"]);
      const stranger = await askAll(site.url, {
        method: "POST",
        path: "/api/v1/firmware?board=x",
        body: "x",
      });
      expect([stranger.status, asObject(stranger.text)["code"]]).toEqual([401, "unauthenticated"]);
      expect((await site.rest("GET", "/firmware")).body["images"]).toMatchObject([{ id, share: 100 }]);
    },
  );
});

describe("the description of REST", () => {
  it("has every route of firmware, and the upload as a file", async () => {
    const site = await openSite();
    const { body } = await askAll(site.url, { path: "/api/v1/openapi.json" });
    const paths = body["paths"] as {
      [path: string]: { [method: string]: { requestBody?: { content: object } } };
    };
    expect(Object.keys(paths["/api/v1/firmware"] ?? {}).sort()).toEqual(["get", "post"]);
    expect(Object.keys(paths["/api/v1/firmware/{id}"] ?? {}).sort()).toEqual(["delete", "get", "patch"]);
    const upload = paths["/api/v1/firmware"]?.["post"]?.requestBody?.content ?? {};
    expect(Object.keys(upload)).toEqual(["application/octet-stream"]);
  });
});

describe("changing one", () => {
  it("[FWU-2] returns the changed image; an invalid change has no effect", async () => {
    const site = await openSite();
    const at = `/firmware/${String((await handIn(site, makeImage())).body["id"])}`;
    expect((await site.rest("PATCH", at, { share: 25 })).body).toMatchObject({ share: 25, state: "offered" });
    const halted = await site.rest("PATCH", at, { state: "halted" });
    expect(halted.body).toMatchObject({ state: "halted", haltedReason: "halted by admin", share: 25 });
    expect(await offerOf(site)).toBeUndefined();
    const resumed = await site.rest("PATCH", at, { state: "offered", share: 100 });
    expect(resumed.body).toMatchObject({ state: "offered", haltedReason: null, share: 100 });
    expect(await offerOf(site)).toBeDefined();
    for (const body of [{ share: -1 }, { share: 1.5 }, { state: "withdrawn" }, { version: "1" }, []]) {
      expect((await site.rest("PATCH", at, body)).status).toBe(400);
    }
    expect((await site.rest("PATCH", "/firmware/no-such-image", { share: 1 })).status).toBe(404);
  });
});
