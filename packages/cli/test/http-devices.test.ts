import fs from "node:fs";
import path from "node:path";
import { HttpServer } from "@tendon/simulator";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openGateway } from "./open-gateway.ts";
import { run, temporaryFolder } from "./run-tendon.ts";

const secret = "a-secret-of-the-server";

describe("MCP servers over HTTP on the command line", () => {
  const folder = temporaryFolder();
  const cwd = folder.path;
  let server: HttpServer;
  let gateway: Awaited<ReturnType<typeof openGateway>>;
  beforeAll(async () => {
    server = await HttpServer.start({ token: secret });
    fs.writeFileSync(path.join(cwd, "headers"), `# for the server\nAuthorization: Bearer ${secret}\n`);
    const entry = { alias: "fixed", url: server.url, headersFile: path.join(cwd, "headers") };
    fs.writeFileSync(path.join(cwd, "tendon.yaml"), `devices: { http: [${JSON.stringify(entry)}] }\n`);
    gateway = await openGateway(cwd);
  });
  afterAll(async () => {
    await gateway.end();
    await server.stop();
    folder.remove();
  });

  it("are added, called and deleted, and checked by doctor", async () => {
    const header = `Authorization: Bearer ${secret}`;
    const added = await run(["device", "add-http", "lamp", server.url, "--header", header], { cwd });
    expect(added).toMatchObject({ code: 0 });
    expect(added.stdout).toContain("lamp is added.");
    for (const alias of ["lamp", "fixed"]) {
      let called = await run(["call", alias, "lamp.set", "on=true"], { cwd });
      for (let tries = 0; called.code !== 0 && tries < 20; tries += 1)
        called = await run(["call", alias, "lamp.set", "on=true"], { cwd });
      expect(called.stdout).toContain("the lamp is on");
    }
    const doctor = await run(["doctor"], { cwd });
    expect(doctor.stdout).toMatch(/ok {4}MCP server {10}fixed: 127\.0\.0\.1:\d+ accepts connections/);
    const shown = await run(["config", "show"], { cwd });
    expect(`${doctor.stdout}${shown.stdout}${shown.stderr}`).not.toContain(secret);
    expect(await run(["device", "delete", "lamp"], { cwd })).toMatchObject({ code: 0 });
    const kept = await run(["device", "delete", "fixed"], { cwd });
    expect(kept.code).toBe(1);
    expect(kept.stderr).toContain("remove it from tendon.yaml");
    expect(await run(["device", "add-http", "other", "http://169.254.1.1/mcp"], { cwd })).toMatchObject({
      code: 1,
    });
    const wrong = await run(["device", "add-http", "other", server.url, "--header", "nothing"], { cwd });
    expect(wrong.code).toBe(2);
  });

  it("are simulated, with faults by name", async () => {
    const list = await run(["simulate", "http-server", "--fault", "list"], { cwd });
    expect(list.stdout).toContain("lose-sessions");
    const wrong = await run(["simulate", "http-server", "--fault", "nothing"], { cwd });
    expect(wrong).toMatchObject({ code: 2 });
  });
});
