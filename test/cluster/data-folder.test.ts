/** Two gateways with PostgreSQL that are started on one data folder. */
import fs from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { run, startServe, temporaryFolder } from "../../packages/cli/test/run-tendon.ts";
import { PostgresServer } from "../../packages/gateway/test/store/postgres-server.ts";
import { askAll } from "../http-client.ts";

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.start();
});
afterAll(async () => {
  await postgres.remove();
});

it("the second stops at once, names the first, and leaves its files alone", async () => {
  const folder = temporaryFolder();
  const env = { TENDON_STORAGE: await postgres.newDatabase() };
  const { process: first, url } = await startServe(folder.path, [], env);
  onTestFinished(async () => {
    await first.end("SIGKILL");
    folder.remove();
  });
  const runFile = path.join(folder.path, "data", "gateway.json");
  const before = fs.readFileSync(runFile, "utf8");
  const { pid } = JSON.parse(before) as { pid: number };
  const args = ["serve", "--port", "0", "--mqtt-port", "0"];
  const second = await run(args, { cwd: folder.path, env });
  expect(second.code).toBe(1);
  expect(second.stderr).toContain(`is already used by process ${pid}`);
  expect(fs.readFileSync(runFile, "utf8")).toBe(before);
  expect((await askAll(url, { path: "/healthz" })).status).toBe(200);
});
