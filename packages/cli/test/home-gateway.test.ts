/** The home of docs/guides/processes.md is the one of `tendon serve --demo` and of `tendon home`, with its events. */
import fs from "node:fs";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { bin, run, start, startServe, temporaryFolder } from "./run-tendon.ts";

const folder = temporaryFolder();
const cwd = folder.path;
afterAll(() => folder.remove());

interface Program {
  readonly alias: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** The entry `home` of the guide, with the command that `npx tendon` runs. */
function homeOfTheGuide(): Program {
  const page = fs.readFileSync(new URL("../../../docs/guides/processes.md", import.meta.url), "utf8");
  const [, text = ""] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const { devices } = parse(text) as { devices: { stdio: Program[] } };
  const home = devices.stdio.find(({ alias }) => alias === "home");
  const [name, ...args] = home?.args ?? [];
  expect([home?.command, name]).toEqual(["npx", "tendon"]);
  return { alias: "home", command: process.execPath, args: [bin, ...args] };
}

it("the sample of the guide starts the same home as the demo, with events", async () => {
  fs.mkdirSync(path.join(cwd, "data"));
  fs.writeFileSync(path.join(cwd, "data", "home.yaml"), "lights: [salon]\ntools: gate.yaml\n");
  fs.writeFileSync(
    path.join(cwd, "data", "gate.yaml"),
    "state: { gate: closed }\ntools: [{ name: open_gate, returns: { set: gate, to: open } }]\n",
  );
  const states = async () => {
    const { stdout } = await run(["call", "home", "get_all_states", "--json"], { cwd });
    return (JSON.parse(stdout) as { result: { structuredContent: object } }).result.structuredContent;
  };

  const demo = await startServe(cwd, ["--demo"]);
  const calls = start(["watch", "--type", "device.notification", "--json"], { cwd });
  await calls.until("stderr", /watching/);
  expect((await run(["call", "home", "open_gate"], { cwd })).code).toBe(0);
  await calls.until("stdout", /"state_changed".*"name":"gate","value":"open"/);
  await calls.end();
  await demo.process.end();

  fs.writeFileSync(path.join(cwd, "tendon.yaml"), stringify({ devices: { stdio: [homeOfTheGuide()] } }));
  const gateway = await startServe(cwd);
  const watch = start(["watch", "--type", "device.notification", "--json"], { cwd });
  await watch.until("stderr", /watching/);
  expect(await states()).toMatchObject({ lights: { salon: false }, gate: "open" });
  await run(["home", "lights", "on", "salon"], { cwd });
  await watch.until("stdout", /"light_changed".*"name":"salon","on":true/);
  expect(await states()).toMatchObject({ lights: { salon: true }, gate: "open" });
  await watch.end();
  await gateway.process.end();
});
