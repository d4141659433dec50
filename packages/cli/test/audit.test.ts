import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openGateway } from "./open-gateway.ts";
import { run, temporaryFolder } from "./run-tendon.ts";

describe("tendon audit", () => {
  const folder = temporaryFolder();
  const cwd = folder.path;
  let gateway: Awaited<ReturnType<typeof openGateway>>;
  beforeAll(async () => {
    gateway = await openGateway(cwd);
    expect((await run(["token", "create", "tablet", "--scope", "read"], { cwd })).code).toBe(0);
  });
  afterAll(async () => {
    await gateway.end();
    folder.remove();
  });

  it("lists who changed what, with filters", async () => {
    const all = await run(["audit"], { cwd });
    expect(all.stdout).toMatch(/WHEN\s+BY\s+ACTION\s+TARGET\s+FROM\s+DETAIL/);
    expect(all.stdout).toMatch(/admin\s+token\.create\s+tablet\s+127\.0\.0\.1/);
    expect(all.stdout).toMatch(/gateway\s+settings\.start/);
    const starts = await run(["audit", "--action", "settings.start", "--json"], { cwd });
    expect(JSON.parse(starts.stdout)).toMatchObject({ entries: [{ principal: "gateway" }] });
    const none = await run(["audit", "--principal", "nobody"], { cwd });
    expect(none).toMatchObject({ code: 0, stdout: "No matching entries.\n" });
    const wrong = await run(["audit", "--since", "yesterday"], { cwd });
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain("--since must be a date");
  });

  it("exports the audit and the history", async () => {
    const csv = await run(["audit", "--export", "csv"], { cwd });
    expect(csv.stdout).toMatch(/^id,at,principal,action,/);
    expect(csv.stdout).toContain(",admin,token.create,token,");
    const lines = await run(["calls", "--export", "ndjson"], { cwd });
    expect(lines).toMatchObject({ code: 0, stdout: "" });
    expect((await run(["calls", "--export", "xlsx"], { cwd })).code).not.toBe(0);
  });
});
