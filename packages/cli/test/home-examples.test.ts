import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "./run-tendon.ts";

const run = promisify(execFile);
const examples = new URL("../../../examples/", import.meta.url);
const { PATH = "" } = process.env;

describe("examples of the simulated home", () => {
  it("home-client.mjs runs", async () => {
    const { stdout } = await run(process.execPath, [fileURLToPath(new URL("home-client.mjs", examples))]);
    expect(stdout).toContain("the light is on, and the home has gone");
  });

  it("home-session.sh runs", async () => {
    const folder = temporaryFolder();
    const script = fileURLToPath(new URL("home-session.sh", examples));
    const { stdout } = await run("sh", [script], { cwd: folder.path, env: { PATH } });
    expect(stdout).toContain('{"type":"result","id":1,"ok":true,"result":{"on":["salon"]}}');
    expect(stdout.trimEnd().split("\n").at(-1)).toBe("as it should be");
    folder.remove();
  });
});
