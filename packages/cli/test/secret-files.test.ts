/** Secret files in the data folder that are invalid, empty, unreadable or lost. */
import fs from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { run, start, startServe, temporaryFolder } from "./run-tendon.ts";

let folder: ReturnType<typeof temporaryFolder>;
let cwd: string;
beforeEach(() => {
  folder = temporaryFolder();
  cwd = folder.path;
  fs.mkdirSync(path.join(cwd, "data"), { mode: 0o700 });
});
afterEach(() => folder.remove());

const inData = (name: string) => path.join(cwd, "data", name);
const serve = () => run(["serve", "--port", "0", "--mqtt-port", "0"], { cwd });

/** Starts and stops a gateway, and returns its log. */
async function startOnce(): Promise<string> {
  const { process } = await startServe(cwd);
  expect(await run(["devices"], { cwd })).toMatchObject({ code: 0 });
  const { code, stderr } = await process.end();
  expect(code).toBe(0);
  return stderr;
}

describe.each(["admin-token", "device-secret"])("the file %s", (name) => {
  it("is rejected when it is too short, without printing its content", async () => {
    fs.writeFileSync(inData(name), "zq\n", { mode: 0o600 });
    const { code, stdout, stderr } = await serve();
    expect([code, stdout]).toEqual([1, ""]);
    const file = path.join("data", name);
    expect(stderr).toMatch(
      new RegExp(`^tendon: \\S*${file} has 2 characters; a secret needs at least 16\\.`, "m"),
    );
    expect(stderr).toContain("remove the file");
    expect(stderr).not.toContain("zq");
    expect(fs.readFileSync(inData(name), "utf8")).toBe("zq\n");
  });

  it("is created again when the first start was interrupted before writing it", async () => {
    fs.writeFileSync(inData(name), "", { mode: 0o644 });
    await startOnce();
    const made = fs.readFileSync(inData(name), "utf8");
    expect(made.trim().length).toBeGreaterThanOrEqual(32);
    expect(fs.statSync(inData(name)).mode & 0o777).toBe(0o600);
    await startOnce();
    expect(fs.readFileSync(inData(name), "utf8")).toBe(made);
    // No temporary file is left.
    expect(fs.readdirSync(path.join(cwd, "data")).filter((file) => file.startsWith(`${name}.`))).toEqual([]);
  });

  it("is reported when it cannot be read", async () => {
    fs.mkdirSync(inData(name));
    const { code, stderr } = await serve();
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`${name} cannot be read \\(EISDIR`));
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});

describe("a lost device-secret", () => {
  it("is not replaced while known devices have credentials made with it", async () => {
    const { process } = await startServe(cwd);
    const board = start(["simulate", "esp32"], { cwd });
    await board.until("stderr", /1 of 1 connected/);
    await board.end();
    await process.end();
    fs.truncateSync(inData("device-secret"));
    const { code, stderr } = await serve();
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /device-secret is empty, and there are devices whose credentials were made with it\./,
    );
    expect(stderr).toContain("Restore it from a backup");
    expect(fs.readFileSync(inData("device-secret"), "utf8")).toBe("");
    // Removing the file is a decision: the gateway starts, and logs that known devices must be provisioned again.
    fs.rmSync(inData("device-secret"));
    expect(await startOnce()).toContain("known devices must be approved again");
    expect(await startOnce()).not.toContain("must be approved again");
  });
});
