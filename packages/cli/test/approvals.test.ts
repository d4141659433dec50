import fs from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OpenGateway, openGateway } from "./open-gateway.ts";
import { type RunningTendon, run, start, temporaryFolder } from "./run-tendon.ts";

const folder = temporaryFolder();
const cwd = folder.path;
let gateway: OpenGateway;
let board: RunningTendon;
let agent: string;

beforeAll(async () => {
  const rule = "{ tool: self.audio_speaker.set_volume, effect: confirm, reason: the neighbours sleep }";
  fs.writeFileSync(path.join(cwd, "tendon.yaml"), `access:\n  rules:\n    - ${rule}\n`);
  gateway = await openGateway(cwd);
  board = start(["simulate", "esp32", "--board", "test-board"], { cwd });
  await board.until("stderr", /1 of 1 connected/);
  agent = (await run(["token", "create", "agent"], { cwd })).stdout.trim();
});

afterAll(async () => {
  await board.end();
  await gateway.end();
  folder.remove();
});

const call = (volume: number) =>
  run(["call", "test-board-1001", "self.audio_speaker.set_volume", `volume=${volume}`, "--token", agent], {
    cwd,
  });

describe("tendon approvals", () => {
  it("lists waiting calls, and approves a call once", async () => {
    expect((await run(["approvals"], { cwd })).stdout).toBe("No pending approvals.\n");
    const refused = await call(20);
    expect(refused.code).toBe(1);
    const [, id = ""] =
      /approval_required: .*\(request (\S+)\): the neighbours sleep/.exec(refused.stderr) ?? [];
    for (const list of [["approvals"], ["approvals", "list"]]) {
      const { code, stdout } = await run(list, { cwd });
      expect(code).toBe(0);
      expect(stdout).toMatch(/^ID\s+REQUESTED\s+BY\s+DEVICE\s+TOOL\s+ARGUMENTS\s+STATE/);
      expect(stdout).toContain(id);
      expect(stdout).toMatch(
        /agent\s+test-board-1001\s+self\.audio_speaker\.set_volume\s+\{"volume":20\}\s+waiting/,
      );
    }
    const own = await run(["approvals", "approve", id, "--token", agent], { cwd });
    expect([own.code, own.stderr]).toEqual([1, expect.stringContaining("forbidden")]);
    const approved = await run(["approvals", "approve", id], { cwd });
    expect([approved.code, approved.stdout]).toEqual([
      0,
      "approved: self.audio_speaker.set_volume on test-board-1001 for agent, once, within ten minutes\n",
    ]);
    expect(await call(20)).toMatchObject({ code: 0, stdout: "true\n" });
    expect((await run(["approvals"], { cwd })).stdout).toBe("No pending approvals.\n");
    expect((await run(["approvals", "--all"], { cwd })).stdout).toMatch(/consumed/);
    const again = await run(["approvals", "approve", id], { cwd });
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("already consumed")]);
  });

  it("denies a call, prints JSON, and rejects wrong usage", async () => {
    expect((await call(21)).code).toBe(1);
    const listed = JSON.parse((await run(["approvals", "--json"], { cwd })).stdout) as {
      approvals: { id: string }[];
    };
    const id = listed.approvals[0]?.id ?? "";
    const denied = await run(["approvals", "deny", id, "--json"], { cwd });
    expect(JSON.parse(denied.stdout)).toMatchObject({ id, state: "denied", decidedBy: "admin" });
    expect((await call(21)).stderr).toContain("a person has denied");
    expect((await run(["approvals", "approve", "no-such-request"], { cwd })).code).toBe(1);
    expect((await run(["approvals", "approve"], { cwd })).code).toBe(2);
    expect((await run(["approvals", "dance"], { cwd })).code).toBe(2);
  });
});
