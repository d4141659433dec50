import fs from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it, test } from "vitest";
import { type HomeProcess, startHome } from "./home-process.ts";
import { temporaryFolder } from "./run-tendon.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());

let count = 0;
/** A home with a number of its own for each of two processes. */
function freshFolder(): string {
  count += 1;
  const cwd = path.join(folder.path, String(count));
  fs.mkdirSync(path.join(cwd, "data"), { recursive: true });
  const tools = ["a", "b"].map((key) => ({
    name: `set_${key}`,
    description: "Sets the number.",
    properties: { value: { type: "integer", minimum: 0, maximum: 1_000_000 } },
    returns: { set: key, from: "value" },
  }));
  fs.writeFileSync(path.join(cwd, "data", "own.json"), JSON.stringify({ state: { a: 0, b: 0 }, tools }));
  fs.writeFileSync(path.join(cwd, "data", "home.yaml"), "tools: own.json\n");
  return cwd;
}

type Key = "a" | "b";

/** Sets the number to 1, 2, 3 … with so many calls at once, and kills the process after an answer. */
async function writeAndKill(home: HomeProcess, key: Key, from: number, { atOnce = 1, answers = 1 }) {
  let sent = from;
  let acknowledged = from;
  const send = () => {
    let text = "";
    for (let each = 0; each < atOnce; each += 1) {
      sent += 1;
      text += `{"type":"call","id":${sent},"tool":"set_${key}","args":{"value":${sent}}}\n`;
    }
    home.write(text);
  };
  send();
  while (acknowledged < from + answers) {
    const answer = JSON.parse(await home.next()) as { readonly id: number; readonly ok: boolean };
    expect(answer).toMatchObject({ id: acknowledged + 1, ok: true });
    acknowledged = answer.id;
    if (acknowledged === sent && acknowledged < from + answers) send();
  }
  // More calls are on their way when it is killed.
  send();
  home.child.kill("SIGKILL");
  await home.ended();
  // Answers that were sent before the kill and not read yet are acknowledgements too.
  const lines = home.stdout.trimEnd().split("\n");
  const last = lines.findLast((line) => line.startsWith('{"type":"result"') && line.endsWith("}"));
  const id = last === undefined ? 0 : (JSON.parse(last) as { readonly id: number }).id;
  return { sent, acknowledged: Math.max(acknowledged, id) };
}

async function numberIn(cwd: string, key: Key): Promise<number> {
  const home = await startHome({ cwd });
  const all = (await home.ask("get_all_states")) as Readonly<Record<Key, number>>;
  await home.quit();
  expect(home.stderr).toBe("");
  return all[key];
}

describe("kill -9", () => {
  test.each([
    { atOnce: 1, answers: [1, 2, 3, 10, 100, 1_000] },
    { atOnce: 7, answers: [1, 5, 50, 500] },
    { atOnce: 400, answers: [1, 399, 400, 3_000] },
  ])("loses no acknowledged change with $atOnce calls at once", async ({ atOnce, answers: counts }) => {
    const cwd = freshFolder();
    let known = 0;
    for (const answers of counts) {
      const home = await startHome({ cwd });
      const { sent, acknowledged } = await writeAndKill(home, "a", known, { atOnce, answers });
      known = await numberIn(cwd, "a");
      expect(known).toBeGreaterThanOrEqual(acknowledged);
      expect(known).toBeLessThanOrEqual(sent);
    }
    expect(fs.readdirSync(path.join(cwd, "data")).filter((name) => name.includes("broken"))).toEqual([]);
  });

  it("of one process loses nothing of another that writes at the same time", async () => {
    const cwd = freshFolder();
    const survivor = await startHome({ cwd });
    let written = 0;
    let known = 0;
    let stop = false;
    const writing = (async () => {
      while (!stop) {
        written += 1;
        expect(await survivor.ask("set_b", { value: written })).toEqual({ ok: true });
      }
    })();
    for (const answers of [1, 20, 300, 300, 300]) {
      const victim = await startHome({ cwd });
      const { sent, acknowledged } = await writeAndKill(victim, "a", known, { atOnce: 3, answers });
      known = await numberIn(cwd, "a");
      expect(known).toBeGreaterThanOrEqual(acknowledged);
      expect(known).toBeLessThanOrEqual(sent);
    }
    stop = true;
    await writing;
    expect(await survivor.ask("get_all_states")).toMatchObject({ a: known, b: written });
    await survivor.quit();
    expect(await numberIn(cwd, "b")).toBe(written);
    const file = fs.readFileSync(path.join(cwd, "data", "home.json"), "utf8");
    expect(JSON.parse(file)).toMatchObject({ own: { a: known, b: written } });
  });
});

describe.runIf(process.platform === "linux")("a full disk", () => {
  it("rejects changes, loses no acknowledged one, and ends when there is room again", async () => {
    const cwd = freshFolder();
    const home = await startHome({ cwd, maxFileKiB: 2 });
    let acknowledged = 0;
    let answer: unknown = { ok: true };
    while (typeof answer === "object" && acknowledged < 1_000) {
      answer = await home.ask("set_a", { value: acknowledged + 1 });
      if (typeof answer === "object") acknowledged += 1;
    }
    expect(acknowledged).toBeGreaterThan(10);
    expect(answer).toBe("No se puede guardar el estado de la casa");
    expect(await home.ask("set_b", { value: 1 })).toBe("No se puede guardar el estado de la casa");
    expect(await home.ask("get_all_states")).toMatchObject({ a: acknowledged, b: 0 });
    const next = await startHome({ cwd });
    expect(await next.ask("get_all_states")).toMatchObject({ a: acknowledged, b: 0 });
    expect(await next.ask("set_b", { value: 2 })).toEqual({ ok: true });
    await next.quit();
    expect(await home.ask("set_b", { value: 3 })).toEqual({ ok: true });
    await home.quit();
    expect(await numberIn(cwd, "a")).toBe(acknowledged);
    expect(await numberIn(cwd, "b")).toBe(3);
  });
});
