/** Commands with names of devices and tokens that are unknown, deleted or ambiguous. */
import fs from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeDatabase } from "../../gateway/test/store/database-file.ts";
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

describe("tendon calls --device", () => {
  it("reports an unknown device only if neither a device nor a call has that name", async () => {
    const id = "02:00:00:00:79:01";
    const board = start(["simulate", "esp32", "--id", id], { cwd });
    await board.until("stderr", /1 of 1 connected/);
    const typo = await run(["calls", "--device", "no-such-board"], { cwd });
    expect([typo.code, typo.stdout]).toEqual([1, ""]);
    expect(typo.stderr).toContain("device_unknown: ");
    const json = await run(["calls", "--device", "no-such-board", "--json"], { cwd });
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({ code: "device_unknown" });
    // A known device without calls.
    expect(await run(["calls", "--device", id], { cwd })).toMatchObject({
      code: 0,
      stdout: "No matching calls.\n",
    });
    expect((await run(["call", id, "self.get_device_status"], { cwd })).code).toBe(0);
    await board.end();
    expect((await run(["device", "delete", id], { cwd })).code).toBe(0);
    const kept = await run(["calls", "--device", id], { cwd });
    expect(kept).toMatchObject({ code: 0, stdout: expect.stringContaining("self.get_device_status") });
    // A deleted device with calls in the history, but none of this tool.
    expect(await run(["calls", "--device", id, "--tool", "self.reboot"], { cwd })).toMatchObject({
      code: 0,
      stdout: "No matching calls.\n",
    });
  });
});

describe("tendon token revoke", () => {
  async function make(...args: string[]): Promise<{ id: string; token: string }> {
    const { stdout } = await run(["token", "create", ...args, "--json"], { cwd });
    return JSON.parse(stdout) as { id: string; token: string };
  }

  it("accepts a name that exactly one token has", async () => {
    const { id, token } = await make("kitchen agent");
    const revoked = await run(["token", "revoke", "kitchen agent"], { cwd });
    expect(revoked).toMatchObject({ code: 0, stdout: `token ${id} (kitchen agent) revoked\n` });
    expect((await run(["devices", "--token", token], { cwd })).stderr).toContain("unauthenticated");
    const again = await run(["token", "revoke", "kitchen agent"], { cwd });
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("not_found")]);
  });

  it("lists the ids when several tokens of an older version have the name, and revokes none", async () => {
    const [one, two] = [await make("twin"), await make("other twin")];
    const taken = await run(["token", "create", "twin"], { cwd });
    expect([taken.code, taken.stdout]).toEqual([1, ""]);
    expect(taken.stderr).toContain("conflict: a token named `twin` exists already; choose another name");
    const file = path.join(cwd, "data", "tendon.db");
    writeDatabase(file, `update tendon_tokens set name = 'twin' where id = '${two.id}'`);
    const several = await run(["token", "revoke", "twin"], { cwd });
    expect([several.code, several.stdout]).toEqual([1, ""]);
    expect(several.stderr).toContain(`2 tokens are named twin. Pass one of their ids: ${one.id}, ${two.id}`);
    expect((await run(["devices", "--token", one.token], { cwd })).code).toBe(0);
    expect((await run(["token", "revoke", one.id], { cwd })).code).toBe(0);
    expect((await run(["token", "revoke", "twin"], { cwd })).stdout).toContain(two.id);
  });

  it("creates a token for the MCP endpoint with --endpoint, which excludes --scope", async () => {
    const made = await run(["token", "create", "pipes", "--endpoint", "--json"], { cwd });
    expect(JSON.parse(made.stdout)).toMatchObject({ scopes: ["endpoint", "read", "call"] });
    const plain = await run(["token", "create", "voice", "--endpoint"], { cwd });
    expect(plain.stdout).toMatch(/^tdn_\S+\n$/);
    expect(plain.stderr).toMatch(
      /^programs, .* connect to ws:\/\/127\.0\.0\.1:\d+\/mcp_endpoint\/mcp\/\?token=…$/m,
    );
    expect(plain.stderr).toMatch(/^voice servers connect to ws:.*\/mcp_endpoint\/call\/\?token=…$/m);
    const both = await run(["token", "create", "x", "--endpoint", "--scope", "read"], { cwd });
    expect([both.code, both.stderr]).toEqual([
      2,
      expect.stringContaining("Use either --endpoint or --scope"),
    ]);
  });

  it("leaves the name of another machine's `mcp` token alone", async () => {
    const { token } = await make("mcp");
    expect((await run(["doctor", "--create-token"], { cwd })).stdout).toContain("mcp-token is valid");
    const { tokens } = JSON.parse((await run(["token", "list", "--json"], { cwd })).stdout) as {
      tokens: { name: string }[];
    };
    const named = tokens.flatMap(({ name }) => (name.startsWith("mcp") ? [name] : []));
    expect(named).toEqual(["mcp", expect.stringMatching(/^mcp-[0-9a-f]{6}$/)]);
    expect(fs.readFileSync(path.join(cwd, "data", "mcp-token"), "utf8").trim()).not.toBe(token);
  });

  it("prefers an id over an equal name", async () => {
    const real = await make("first");
    const impostor = await make(real.id);
    expect((await run(["token", "revoke", real.id], { cwd })).stdout).toContain(`token ${real.id} `);
    expect((await run(["devices", "--token", impostor.token], { cwd })).code).toBe(0);
  });
});
