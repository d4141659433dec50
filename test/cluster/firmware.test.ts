/** Firmware uploaded to one node, for boards that use another. */
import fs from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { boardId, fetchImage, handIn, offerOf } from "../firmware/boards.ts";
import { makeImage } from "../firmware-image.ts";
import { until } from "../inbox.ts";
import type { Site } from "../site.ts";
import { Engines } from "./nodes.ts";

const engines = new Engines();

async function nodes(count: number): Promise<Site[]> {
  return await (await engines.newFleet()).nodes(count);
}

function filesOf(site: Site): string[] {
  return fs.readdirSync(path.join(site.folder, "firmware"));
}

/** The same URL on another node, as behind a load balancer. */
function at(site: Site, url: string | undefined): string {
  return `${site.url}${new URL(url ?? "").pathname}`;
}

describe("an image that was uploaded to one node", () => {
  // Larger than one NATS message.
  const image = makeImage({ codeBytes: 3_000_000 });

  it("is offered and downloaded complete on other nodes, and stored there", async () => {
    const [one, two, three] = (await nodes(3)) as [Site, Site, Site];
    const { id } = (await handIn(one, image)).body;
    for (const site of [one, two, three])
      expect((await site.rest("GET", `/firmware/${String(id)}`)).body).toMatchObject({ here: true });
    expect(filesOf(three)).toEqual([]);
    const offer = await offerOf(two);
    const fetched = await fetchImage(at(three, offer?.url));
    expect([fetched.status, fetched.bytes.equals(image)]).toEqual([200, true]);
    expect([filesOf(one), filesOf(two), filesOf(three)]).toEqual(Array(3).fill([`${String(id)}.bin`]));
    await one.tendon.stop();
    expect((await fetchImage(at(two, offer?.url))).bytes.equals(image)).toBe(true);
  });

  it("is copied once for many boards, and removed from all nodes when it is deleted", async () => {
    const [one, two] = (await nodes(2)) as [Site, Site];
    const { id } = (await handIn(one, image)).body;
    const offers = await Promise.all([1, 2, 3, 4].map((number) => offerOf(two, { id: boardId(number) })));
    expect(offers.every((offer) => offer?.version === "2.5.0")).toBe(true);
    await two.rest("DELETE", `/firmware/${String(id)}`);
    expect([filesOf(one), filesOf(two)]).toEqual([[], []]);
    expect((await fetchImage(at(one, offers[0]?.url))).status).toBe(404);
  });

  it("that is damaged on every node is not offered, and no node stores it", async () => {
    const [one, two] = (await nodes(2)) as [Site, Site];
    const { id } = (await handIn(one, image)).body;
    const file = path.join(one.folder, "firmware", `${String(id)}.bin`);
    const bytes = fs.readFileSync(file);
    bytes[1_000_000] = (bytes[1_000_000] ?? 0) ^ 1;
    fs.writeFileSync(file, bytes);
    expect(await offerOf(two)).toBeUndefined();
    expect(filesOf(two)).toEqual([]);
    expect((await two.rest("GET", `/firmware/${String(id)}`)).body).toMatchObject({ here: false });
    await until(async () => (await offerOf(one)) === undefined);
  });
});
