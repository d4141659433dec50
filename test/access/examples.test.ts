/** What docs/access.md shows is what happens. */
import fs from "node:fs";
import { loadConfig } from "@tendon/gateway";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { tool } from "../raw-device.ts";
import { firstDevice, openSite } from "../site.ts";
import { as, makeToken } from "./tokens.ts";

const page = fs.readFileSync(new URL("../../docs/access.md", import.meta.url), "utf8");
const blocks = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = ""]) => text);

describe("docs/access.md", () => {
  it.each(blocks)("has settings that are valid:\n%s", (text) => {
    const file = `${fs.mkdtempSync("/tmp/tendon-docs-")}/tendon.yaml`;
    onTestFinished(() => fs.rmSync(file.slice(0, -"/tendon.yaml".length), { recursive: true }));
    fs.writeFileSync(file, text);
    expect(loadConfig({ file }).file).toBe(file);
  });

  it.each([...page.matchAll(/^\| (`[^|]*`) \| /gm)].flatMap(([, cell = ""]) => conditionsIn(cell)))(
    "has conditions that are valid: %s",
    (written) => {
      const args = parse(`{ ${written} }`) as { [key: string]: unknown };
      const overrides = { access: { rules: [{ args, effect: "deny" as const }] } };
      expect(loadConfig({ overrides }).config.access.rules[0]?.args).toEqual(args);
    },
  );

  it("has rules that do what it says", async () => {
    const config = parse(blocks[0] ?? "") as { access: object };
    const site = await openSite({ config });
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

/** `volume: 50`, `{ max: 20 }` … in one cell: those without a name are another condition on the one before. */
function conditionsIn(cell: string): string[] {
  let name = "";
  return [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, written = ""]) => {
    const named = /^([a-z]+): /.exec(written)?.[1];
    name = named ?? name;
    if (named === undefined && !written.startsWith("{")) return [];
    return [named === undefined ? `${name}: ${written}` : written];
  });
}
