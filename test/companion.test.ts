/** examples/companion.mjs, run as a user would, against a real gateway and a virtual board. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { VirtualDevice } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { as, makeToken } from "./access/tokens.ts";
import { until } from "./inbox.ts";
import { openSite, type Site, type SiteOptions } from "./site.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const [mine, other] = ["02:00:00:00:00:07", "02:00:00:00:00:08"];

function companion(site: Site, token: string | undefined, args: readonly string[], typed?: string) {
  const child = spawn(process.execPath, ["examples/companion.mjs", "--url", site.url, ...args], {
    cwd: root,
    env: { ...process.env, TENDON_TOKEN: token },
  });
  const seen = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    seen.out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    seen.err += text;
  });
  if (typed !== undefined) child.stdin.end(typed);
  // Not `exit`, because the last output may arrive after it.
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, ...seen }));
  onTestFinished(async () => {
    if (child.exitCode === null) child.kill("SIGKILL");
    await ended;
  });
  return { seen, ended };
}

async function start(site: Site, mac: string): Promise<VirtualDevice> {
  const clientId = `00000000-0000-4000-8000-${mac.replaceAll(":", "")}`;
  const { websocket } = site.tendon.provision(mac, clientId);
  const device = new VirtualDevice({
    board: { mac, clientId, name: "esp-box-3" },
    url: websocket.url,
    token: websocket.token,
    autoReconnect: false,
    timing: { rebootDelayMs: 1, bootMs: 1 },
  });
  onTestFinished(() => device.stop());
  await device.connect();
  await site.listed(mac);
  return device;
}

/** A gateway with two boards, and a token that may use the user-only tools of the first. */
async function openHome(config: SiteOptions["config"] = {}) {
  const site = await openSite({ config });
  for (const mac of [mine, other]) await start(site, mac);
  const scopes = ["read", "call", "call:user"] as const;
  const app = await makeToken(site, { name: "app", scopes: [...scopes], devices: { ids: [mine] } });
  const owner = await makeToken(site, { name: "owner", scopes: [...scopes] });
  return { site, app: app.token, owner: owner.token };
}

describe("examples/companion.mjs", () => {
  it("[APP-3] lists the user-only tools of the token's devices, and none without `call:user`", async () => {
    const { site, app } = await openHome();
    const { code, out } = await companion(site, app, []).ended;
    expect([code, out.split("\n")[0]]).toEqual([0, "esp-box-3-0007 (online)"]);
    expect(out).toContain("  self.reboot\n");
    expect(out).not.toContain("set_volume");
    expect(out).not.toContain("0008");
    const guest = await makeToken(site, { name: "guest", devices: { ids: [mine] } });
    expect(await companion(site, guest.token, []).ended).toMatchObject({
      code: 0,
      out: "esp-box-3-0007 (online)\n",
    });
  });

  it("[CAM-4] saves a screenshot after the user's yes, over REST and over MQTT", async () => {
    const { site, app } = await openHome();
    const file = path.join(site.folder, "screen.jpg");
    for (const more of [[], ["--mqtt", site.tendon.addresses.mqtt]]) {
      const args = [mine, "self.screen.snapshot", '{"quality":50}', "--save", file, ...more];
      const { code, out, err } = await companion(site, app, args, "y\n").ended;
      expect([code, out, err]).toEqual([
        0,
        `true\nimage/jpeg saved to ${file}\n`,
        "Run self.screen.snapshot on esp-box-3-0007? [y/N] ",
      ]);
      expect(fs.readFileSync(file).subarray(0, 3).toString("hex")).toBe("ffd8ff");
      fs.rmSync(file);
    }
    for (const typed of ["n\n", "", "yes\n"])
      expect((await companion(site, app, [mine, "self.reboot"], typed).ended).out).toBe("nothing was done\n");
    expect((await site.rest("GET", "/calls?tool=self.reboot")).body["calls"]).toEqual([]);
  });

  it.each(["rest", "mqtt"])(
    "[APR-2] [APR-3] waits for an approval over %s, and repeats the call",
    async (over) => {
      const { site, app, owner } = await openHome({
        access: { rules: [{ tool: "self.screen.get_info", effect: "confirm" }] },
      });
      const more = over === "mqtt" ? ["--mqtt", site.tendon.addresses.mqtt] : [];
      expect((await companion(site, app, []).ended).out).toContain(
        "self.screen.get_info (requires approval)",
      );
      const call = [mine, "self.screen.get_info", "--yes", ...more];
      const running = companion(site, app, call);
      await until(() => running.seen.err.includes("waiting for approval"), "the request");
      const decided = await companion(site, owner, ["approvals"], "y\n").ended;
      expect([decided.code, decided.out]).toEqual([0, "approved: self.screen.get_info for app\n"]);
      expect(decided.err).toContain(`app wants self.screen.get_info {} on ${mine}. Approve?`);
      expect(await running.ended).toMatchObject({ code: 0, out: expect.stringContaining('"width":320') });
      const again = companion(site, app, call);
      await until(() => again.seen.err.includes("waiting for approval"), "the second request");
      expect((await companion(site, owner, ["approvals"], "n\n").ended).out).toContain("denied");
      expect(await again.ended).toMatchObject({ code: 1, err: expect.stringContaining("approval_required") });
      expect((await companion(site, owner, ["approvals"]).ended).out).toBe("no pending approvals\n");
    },
  );

  it("[ACC-2] reports what the token may not do, and wrong input", async () => {
    const { site, app } = await openHome();
    const guest = await makeToken(site, { name: "guest" });
    for (const [token, args, code, text] of [
      [app, [other, "self.reboot", "--yes"], 1, "device_unknown"],
      [app, [mine, "self.screen.snapshot", '{"url":"http://files.example/x"}', "--yes"], 1, "forbidden"],
      [guest.token, [mine, "self.screen.snapshot", "--yes"], 1, "call:user"],
      [guest.token, [mine, "self.reboot", "--yes", "--mqtt", site.tendon.addresses.mqtt], 1, "call:user"],
      ["an-unknown-token-here", [], 1, "unauthenticated"],
      [app, [mine], 2, "usage:"],
      [undefined, [], 2, "usage:"],
    ] as const) {
      const ended = await companion(site, token, args).ended;
      expect([ended.code, ended.err]).toEqual([code, expect.stringContaining(text)]);
    }
    expect((await site.rest("GET", "/calls", undefined, as(app))).status).toBe(200);
  });
});
