import fs from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { placeLargeFleet } from "../../gateway/test/store/large-fleet.ts";
import { type OpenGateway, openGateway } from "./open-gateway.ts";
import { run, temporaryFolder } from "./run-tendon.ts";

const folder = temporaryFolder();
const cwd = folder.path;
const count = 22_000;
let gateway: OpenGateway;

beforeAll(async () => {
  const data = path.join(cwd, "data");
  fs.mkdirSync(data, { mode: 0o700 });
  await placeLargeFleet(data, count);
  gateway = await openGateway(cwd);
});

afterAll(async () => {
  await gateway.end();
  folder.remove();
});

describe("tendon devices with 22,000 devices", () => {
  // A layout that compares each row with all others needs more than a minute for this.
  it("prints all of them as one table in seconds", async () => {
    const { code, stdout, stderr } = await run(["devices"], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(count + 1);
    const columns = new Set(lines.map((line) => /^\S+ +/.exec(line)?.[0].length));
    expect([...columns]).toEqual(["board-00001  ".length]);
    expect(lines[0]).toMatch(/^ALIAS {8}ID {17}STATE {4}TRANSPORT {2}BOARD/);
    expect(lines[2]).toMatch(/^board-00002 .* {2}灯 2 {17}0…/);
    expect(lines[1]).toMatch(/^board-00001 .* {2}esp-box-3 {12}0…/);
    expect(lines[count]).toMatch(/^board-22000 {2}02:00:00:00:55:f0 {2}offline {13}esp-box-3/);
  }, 30_000);

  it("prints the number of devices that --limit, --tag and --sort select", async () => {
    const last = await run(["devices", "--limit", "2", "--sort", "-alias"], { cwd });
    expect(last.stdout.trimEnd().split("\n").slice(1)).toEqual([
      expect.stringMatching(/^board-22000 /),
      expect.stringMatching(/^board-21999 /),
    ]);
    expect(last.stderr).toContain("Showing 2 of 22000 devices.");
    const tagged = JSON.parse((await run(["devices", "--tag", "floor-1", "--json"], { cwd })).stdout);
    expect(tagged).toMatchObject({ devices: [{}, {}, {}], total: 3, online: 0 });
    const many = JSON.parse((await run(["devices", "--limit", "1500", "--json"], { cwd })).stdout);
    expect(many).toMatchObject({ devices: { length: 1_500 }, total: count, online: 0 });
  });
});
