/** Checks the examples of docs/guides/access.md. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { type Config, loadConfig } from "@tendon/gateway";
import { describe, expect, it, onTestFinished } from "vitest";
import { tool } from "../raw-device.ts";
import { firstDevice, openSite } from "../site.ts";
import { as, makeToken } from "./tokens.ts";

const page = fs.readFileSync(new URL("../../docs/guides/access.md", import.meta.url), "utf8");
const blocks = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = ""]) => text);

function load(text: string): Config {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-docs-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, "tendon.yaml");
  fs.writeFileSync(file, text);
  return loadConfig({ file }).config;
}

describe("docs/guides/access.md", () => {
  it.each(blocks)("has valid settings:\n%s", (text) => {
    expect(load(text)).not.toEqual(load(""));
  });

  it.each([...page.matchAll(/^\| (`[^|]*`) \| /gm)].flatMap(([, cell = ""]) => conditionsIn(cell)))(
    "has valid conditions: %s",
    (written) => {
      const { rules } = load(`access: { rules: [{ effect: deny, args: { ${written} } }] }`).access;
      expect(rules).toMatchObject([
        { args: { [written.split(":")[0] ?? ""]: expect.anything() as unknown } },
      ]);
    },
  );

  it("has rules with the described effects", async () => {
    const { access } = load(blocks[0] ?? "");
    const site = await openSite({ config: { access } });
    const volume = { volume: { type: "integer" } };
    const device = await site.join({
      tools: [tool("self.audio_speaker.set_volume", volume)],
      userTools: [tool("self.reboot")],
    });
    await site.rest("PATCH", `/devices/${firstDevice}`, { tags: ["bedroom"] });
    const agent = await makeToken(site, { name: "day-agent", scopes: ["call"] });
    const night = await makeToken(site, { name: "night-agent", scopes: ["call"] });
    const call = async (token: string, name: string, args: object) =>
      (await site.rest("POST", `/devices/${firstDevice}/tools/${name}/call`, { arguments: args }, as(token)))
        .body;
    expect(await call(agent.token, "self.reboot", {})).toMatchObject({ code: "approval_required" });
    const loud = await call(agent.token, "self.audio_speaker.set_volume", { volume: 80 });
    expect(loud).toMatchObject({ code: "forbidden", detail: expect.stringContaining("neighbours") });
    expect(await call(night.token, "self.audio_speaker.set_volume", { volume: 5 })).toMatchObject({
      code: "forbidden",
    });
    expect(await device.quiet()).toEqual([]);
  });
});

/** `volume: 50`, `{ max: 20 }` … in one cell: an item without a name is another condition for the previous name. */
function conditionsIn(cell: string): string[] {
  let name = "";
  return [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, written = ""]) => {
    const named = /^([a-z]+): /.exec(written)?.[1];
    name = named ?? name;
    if (named === undefined && !written.startsWith("{")) return [];
    return [named === undefined ? `${name}: ${written}` : written];
  });
}
