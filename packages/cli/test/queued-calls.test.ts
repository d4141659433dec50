/** Calls that wait for a device that is away: `tendon call --queue`, `tendon calls --queued`, `show` and `cancel`. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OpenGateway, openGateway } from "./open-gateway.ts";
import { type Finished, run, start, temporaryFolder } from "./run-tendon.ts";

const folder = temporaryFolder();
const cwd = folder.path;
const alias = "test-board-1001";
const setVolume = ["call", alias, "self.audio_speaker.set_volume"];
let gateway: OpenGateway;

const board = () => start(["simulate", "esp32", "--board", "test-board"], { cwd });
const tendon = (...args: string[]): Promise<Finished> => run(args, { cwd });

beforeAll(async () => {
  gateway = await openGateway(cwd);
  const first = board();
  await first.until("stderr", /1 of 1 connected/);
  await tendon("call", alias, "self.get_device_status");
  await first.end();
});

afterAll(async () => {
  await gateway.end();
  folder.remove();
});

async function queued(...more: string[]): Promise<string> {
  const { code, stdout } = await tendon(...setVolume, "volume=30", "--queue", ...more);
  expect(code).toBe(0);
  return /^queued: (\S+)\n/.exec(stdout)?.[1] ?? "";
}

describe("tendon call to a device that is offline", () => {
  it("fails, and names the option that queues the call", async () => {
    const failed = await tendon(...setVolume, "volume=30");
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    expect(failed.stderr).toMatch(
      /^tendon: device_offline: offline since \S+\n {2}Add --queue to run it when the device is next online\.\n$/,
    );
    const control = await tendon("control", alias, "volume_up");
    expect([control.code, control.stderr]).toEqual([1, expect.stringContaining("Add --queue")]);
  });

  it("is queued with --queue, listed, shown and cancelled", async () => {
    const { code, stdout } = await tendon(...setVolume, "volume=30", "--queue", "--expires", "3h");
    expect(code).toBe(0);
    const [, id = ""] = /^queued: (\S+)\n/.exec(stdout) ?? [];
    expect(stdout).toMatch(/expires in 3 h, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\n/);
    expect(stdout).toMatch(new RegExp(`follow: .* calls show ${id}\\n {2}cancel: .* calls cancel ${id}\\n$`));
    const list = await tendon("calls", "--queued", "--device", alias);
    expect(list.stdout).toMatch(/^ID\s+QUEUED\s+DEVICE\s+TOOL\s+ARGUMENTS\s+BY\s+EXPIRES\n/);
    expect(list.stdout).toMatch(
      new RegExp(
        `\\n${id}\\s.*test-board-1001\\s+self\\.audio_speaker\\.set_volume\\s+volume: 30\\s+admin\\s+in 3 h\\n`,
      ),
    );
    expect((await tendon("devices")).stdout).toContain("offline, 1 queued");
    expect((await tendon("calls", "show", id)).stdout).toMatch(/by admin\nqueued \d+ s ago; .* in 3 h\n$/);
    expect(await tendon("calls", "cancel", id)).toMatchObject({
      code: 0,
      stdout: `cancelled: self.audio_speaker.set_volume on ${alias}\n`,
    });
    expect((await tendon("calls", "--queued")).stdout).toBe("No calls wait for their device.\n");
    const again = await tendon("calls", "cancel", id);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("tendon: conflict: ")]);
    expect((await tendon("calls", "cancel", "unknown")).stderr).toContain("tendon: not_found: ");
  });

  it("prints JSON, replaces an older call with the same key, and runs when the device is back", async () => {
    const older = await queued("--supersede", "volume");
    const reply = await tendon(...setVolume, "volume=40", "--queue", "--supersede", "volume", "--json");
    const { callId } = JSON.parse(reply.stdout) as { callId: string };
    expect(JSON.parse(reply.stdout)).toMatchObject({ state: "queued", expiresAt: expect.any(String) });
    expect((await tendon("calls", "show", older)).stdout).toMatch(/\nsuperseded \d+ s ago: /);
    expect(JSON.parse((await tendon("calls", "--queued", "--json")).stdout)).toMatchObject({
      calls: [{ callId, supersedeKey: "volume" }],
    });
    const action = await tendon("control", alias, "volume_up", "--queue");
    expect(action).toMatchObject({ code: 0, stdout: expect.stringMatching(/^queued: \S+\n/) });
    const watch = start(["watch", "--type", "call.finished"], { cwd });
    await watch.until("stderr", /watching/);
    const back = board();
    await watch.until("stdout", /tool=self\.audio_speaker\.volume_up .*outcome=ok/);
    expect((await tendon("calls", "show", callId)).stdout).toMatch(/\nok \d+ s ago\ntrue\n$/);
    const live = await tendon(...setVolume, "volume=50", "--queue");
    expect(live).toMatchObject({ code: 0, stdout: "true\n" });
    await watch.end();
    await back.end();
  });

  it.each([
    [["--expires", "1h"], "--expires needs --queue"],
    [["--supersede", "k"], "--supersede needs --queue"],
    [["--queue", "--expires", "31d"], "--expires must be 1s to 30d"],
    [["--queue", "--expires", "500ms"], "--expires must be 1s to 30d"],
    [["--queue", "--expires", "soon"], "Use a form such as 30m, 24h or 7d"],
    [["--queue", "--output", "x.jpg"], "cannot be used with option '--queue'"],
  ])("rejects %j", async (options, message) => {
    const wrong = await tendon(...setVolume, "volume=30", ...options);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it("rejects wrong usage of `tendon calls`, and shows its help", async () => {
    expect((await tendon("calls", "--queued", "--outcome", "ok")).code).toBe(2);
    expect((await tendon("calls", "cancel")).code).toBe(2);
    expect((await tendon("calls", "dance")).code).toBe(2);
    const { code, stdout } = await tendon("calls", "--help");
    expect(code).toBe(0);
    for (const part of ["--queued", "show ", "cancel "]) expect(stdout).toContain(part);
  });
});
