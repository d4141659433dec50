/** Images that are offered only to devices with a tag. */
import { describe, expect, it } from "vitest";
import { makeToken } from "../access/tokens.ts";
import { makeImage } from "../firmware-image.ts";
import { ManualClock } from "../manual-clock.ts";
import { OtaBoard } from "../ota-board.ts";
import { openSite, type Site } from "../site.ts";
import { boardId, fetchImage, handIn, imageView, offerOf, update } from "./boards.ts";

const websocket = { devices: { transport: "websocket" } } as const;

async function imageOf(site: Site, query: Record<string, string | readonly string[]> = {}): Promise<string> {
  return String((await handIn(site, makeImage(), query)).body["id"]);
}

/** A board that the gateway knows, with tags. */
async function tagged(site: Site, number: number, ...tags: string[]): Promise<string> {
  const id = boardId(number);
  const board = await site.join({ deviceId: id, clientId: `client-of-${id}` });
  board.cut();
  await site.rest("PATCH", `/devices/${id}`, { tags });
  return id;
}

const as = (token: string) => ({ authorization: `Bearer ${token}` });

describe("an image with tags", () => {
  it("[FWU-3] is offered only to devices with one of them, and its tags can be changed", async () => {
    const site = await openSite({ config: websocket });
    const lab = await tagged(site, 1, "lab", "first-floor");
    const office = await tagged(site, 2, "office");
    const plain = await tagged(site, 3);
    const id = await imageOf(site, { tags: ["lab", "beta"] });
    const offered = async () => {
      const offers = await Promise.all([lab, office, plain].map((device) => offerOf(site, { id: device })));
      return offers.map((offer) => offer?.version);
    };
    expect(await imageView(site, id)).toMatchObject({ tags: ["lab", "beta"], share: 100 });
    expect(await offered()).toEqual(["2.5.0", undefined, undefined]);
    const changed = await site.rest("PATCH", `/firmware/${id}`, { tags: ["office"], share: 100 });
    expect(changed.body).toMatchObject({ tags: ["office"] });
    expect(await offered()).toEqual([undefined, "2.5.0", undefined]);
    expect((await site.rest("PATCH", `/firmware/${id}`, { tags: [] })).body["tags"]).toEqual([]);
    expect(await offered()).toEqual(["2.5.0", "2.5.0", "2.5.0"]);
    expect((await site.rest("GET", "/firmware")).body["images"]).toMatchObject([{ id, tags: [] }]);
    const { body } = await site.rest("GET", "/audit?action=firmware.change");
    expect((body["entries"] as unknown[]).at(-1)).toMatchObject({ detail: { tags: ["office"], share: 100 } });
  });

  it("[FWU-2] counts its share among the devices with the tag", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock, config: websocket });
    const fleet = 60;
    for (let number = 0; number < fleet; number += 1)
      await tagged(site, number, number % 2 === 0 ? "lab" : "office");
    await imageOf(site, { tags: "lab", share: "50" });
    const offered: number[] = [];
    for (let number = 0; number < fleet; number += 1) {
      if (offered.length % 20 === 0) clock.advance(30_000);
      if ((await offerOf(site, { id: boardId(number) })) !== undefined) offered.push(number);
    }
    expect(offered.every((number) => number % 2 === 0)).toBe(true);
    expect(offered.length).toBeGreaterThan(4);
    expect(offered.length).toBeLessThan(26);
  }, 60_000);

  it("[FWU-3] leaves the other devices to another image, also if it is forced", async () => {
    const site = await openSite({ config: websocket });
    const lab = await tagged(site, 1, "lab");
    const plain = await tagged(site, 2);
    await imageOf(site);
    await handIn(site, makeImage({ version: "2.3.0" }), { tags: "lab", force: "true" });
    expect(await offerOf(site, { id: lab })).toMatchObject({ version: "2.3.0", force: 1 });
    expect(await offerOf(site, { id: plain })).toMatchObject({ version: "2.5.0" });
  });

  it("[FWU-3] offers a device that loses the tag nothing more; the offer it has goes on and counts", async () => {
    const site = await openSite({ config: websocket });
    const lab = await tagged(site, 1, "lab");
    const other = await tagged(site, 2, "lab");
    const id = await imageOf(site, { tags: "lab" });
    const offer = await offerOf(site, { id: lab });
    await offerOf(site, { id: other });
    for (const device of [lab, other]) await site.rest("PATCH", `/devices/${device}`, { tags: [] });
    expect((await fetchImage(offer?.url ?? "")).status).toBe(200);
    await offerOf(site, { id: lab, version: "2.5.0" });
    expect(await imageView(site, id)).toMatchObject({ devices: { updated: 1, offered: 1 } });
    expect(await offerOf(site, { id: other })).toBeUndefined();
    await site.rest("PATCH", `/devices/${other}`, { tags: ["lab"] });
    expect(await offerOf(site, { id: other })).toBeDefined();
  });

  it("[FWU-3] is offered at the first boot of a device that was imported with the tag", async () => {
    const site = await openSite({ config: { devices: { admission: "list", transport: "websocket" } } });
    const devices = [{ id: boardId(1), tags: ["lab"] }, { id: boardId(2) }];
    await site.rest("POST", "/devices/import", { devices });
    await imageOf(site, { tags: "lab" });
    expect(await offerOf(site, { id: boardId(1) })).toBeDefined();
    expect(await offerOf(site, { id: boardId(2) })).toBeUndefined();
    expect(await new OtaBoard(site.url, { deviceId: boardId(2) }).webSocket()).toBeUndefined();
  });

  it("refuses tags that no device can have", async () => {
    const site = await openSite();
    for (const wrong of ["a b", "", "x".repeat(65)])
      expect((await handIn(site, makeImage(), { tags: wrong })).status).toBe(400);
    const id = await imageOf(site);
    for (const tags of [["a b"], "lab", null, Array.from({ length: 33 }, (_, at) => `tag-${at}`)])
      expect((await site.rest("PATCH", `/firmware/${id}`, { tags })).status).toBe(400);
    expect(await imageView(site, id)).toMatchObject({ tags: [] });
  });
});

describe("a limited administrator", () => {
  const limit = { tags: ["lab", "beta"] };

  it("[FWU-2] offers images only to its own tags", async () => {
    const site = await openSite({ config: websocket });
    const { token } = await makeToken(site, { scopes: ["admin"], devices: limit });
    for (const query of [{}, { tags: "office" }, { tags: ["lab", "office"] }]) {
      const { status, body } = await handIn(site, makeImage(), query, token);
      expect([status, body["code"], body["detail"]]).toEqual([
        403,
        "forbidden",
        "this token offers images only to its own tags: name one or more of `lab`, `beta`",
      ]);
    }
    const added = await handIn(site, makeImage(), { tags: "lab" }, token);
    expect(added.status).toBe(201);
    const own = `/firmware/${String(added.body["id"])}`;
    expect((await site.rest("PATCH", own, { share: 50 }, as(token))).body).toMatchObject({ share: 50 });
    expect((await site.rest("PATCH", own, { tags: ["lab", "beta"] }, as(token))).status).toBe(200);
    for (const tags of [[], ["office"]])
      expect((await site.rest("PATCH", own, { tags }, as(token))).body["code"]).toBe("forbidden");
    expect((await site.rest("DELETE", own, undefined, as(token))).status).toBe(204);
  });

  it("[FWU-2] sees no image of others, and no device of others that failed", async () => {
    const site = await openSite({ config: websocket });
    const { token } = await makeToken(site, { scopes: ["admin"], devices: limit });
    const foreign = await imageOf(site);
    const shared = String(
      (await handIn(site, makeImage({ version: "2.6.0" }), { tags: ["lab", "office"] })).body["id"],
    );
    for (const id of [foreign, shared])
      for (const [method, body] of [["GET"], ["PATCH", { share: 100 }], ["DELETE"]] as const) {
        const answer = await site.rest(method, `/firmware/${id}`, body, as(token));
        expect([answer.status, answer.body["code"]]).toEqual([404, "not_found"]);
      }
    expect((await site.rest("GET", "/firmware", undefined, as(token))).body["images"]).toEqual([]);
    const [lab, office] = [await tagged(site, 1, "lab"), await tagged(site, 2, "office")];
    for (const device of [lab, office]) await update(site, device, "2.4.2");
    await site.rest("PATCH", `/firmware/${shared}`, { tags: ["lab"] });
    const { body } = await site.rest("GET", `/firmware/${shared}`, undefined, as(token));
    expect((body["failures"] as { device: string }[]).map(({ device }) => device)).toEqual([lab]);
    expect((await imageView(site, shared))["failures"]).toHaveLength(2);
  });

  it("[FWU-2] that is limited to devices alone offers nothing", async () => {
    const site = await openSite();
    const { token } = await makeToken(site, { scopes: ["admin"], devices: { ids: [boardId(1)] } });
    const { status, body } = await handIn(site, makeImage(), { tags: "lab" }, token);
    expect([status, body["detail"]]).toEqual([
      403,
      "this token is limited to single devices; images are offered by tag",
    ]);
  });
});
