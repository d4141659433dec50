import os from "node:os";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type OpenGateway, openGateway } from "./open-gateway.ts";
import { run, temporaryFolder } from "./run-tendon.ts";

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

it("says that a rejected token is that of TENDON_TOKEN", async () => {
  const hint = "(the token is that of TENDON_TOKEN; unset it to use the data folder's)";
  const env = { TENDON_TOKEN: "a-token-of-another-gateway" };
  const unknown = await run(["devices"], { cwd, env });
  expect(unknown.code).toBe(1);
  expect(unknown.stderr).toMatch(/^tendon: unauthenticated: /);
  expect(unknown.stderr).toContain(hint);
  const made = await run(["token", "create", "reader", "--scope", "read"], { cwd });
  const reader = { TENDON_TOKEN: made.stdout.trim() };
  const forbidden = await run(["token", "list"], { cwd, env: reader });
  expect(forbidden.stderr).toContain(hint);
  // Elsewhere the data folder has no token for the gateway.
  const remote = await run(["devices", "--url", gateway.url], { cwd: os.tmpdir(), env });
  expect(remote.stderr).toContain("(the token is that of TENDON_TOKEN)");
  const passed = await run(["devices", "--token", env.TENDON_TOKEN], { cwd, env });
  expect(passed.stderr).not.toContain("TENDON_TOKEN");
});
