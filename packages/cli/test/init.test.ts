/** `tendon init`: by flags, by questions on a terminal, and without a terminal. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { lanAddresses, loadConfig } from "@tendon/gateway";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { bin, run, startServe, temporaryFolder } from "./run-tendon.ts";

let folder: ReturnType<typeof temporaryFolder>;
let cwd: string;
beforeEach(() => {
  folder = temporaryFolder();
  cwd = folder.path;
});
afterEach(() => folder.remove());

const file = () => path.join(cwd, "tendon.yaml");
const settings = () => loadConfig({ file: file(), env: {} }).config;

describe("tendon init by flags", () => {
  it("writes a valid file with comments, and prints what to do next", async () => {
    const answers = ["--reach", "192.168.1.20", "--admission", "approve", "--client", "claude-desktop"];
    const { code, stdout, stderr } = await run(["init", ...answers], { cwd });
    expect([code, stderr]).toEqual([0, ""]);
    expect(settings()).toMatchObject({
      http: { host: "0.0.0.0", port: 8000, publicUrl: "http://192.168.1.20:8000" },
      devices: { admission: "approve" },
    });
    expect(fs.readFileSync(file(), "utf8")).toMatch(/^ +# Who may join\. approve: /m);
    // The settings in comments are valid too.
    const uncommented = fs
      .readFileSync(file(), "utf8")
      .replaceAll(/^# (access:|voice:|data: .*| {2,}\S.*)$/gm, "$1");
    fs.writeFileSync(path.join(cwd, "all.yaml"), uncommented);
    expect(loadConfig({ file: path.join(cwd, "all.yaml"), env: {} }).config).toMatchObject({
      access: { rules: [{ tool: "self.camera.take_photo", effect: "confirm" }] },
      voice: { upstream: [{}] },
    });
    expect(stdout).toContain("http://192.168.1.20:8000/xiaozhi/ota/\n");
    expect(stdout).toMatch(/tendon(?:\.js)? serve\n[\s\S]*tendon(?:\.js)? device approve CODE\n/);
    expect(stdout).toMatch(/Connect Claude Desktop: claude_desktop_config\.json[\s\S]*"mcpServers"/);
    const checked = await run(["config", "check"], { cwd });
    expect(checked).toMatchObject({ code: 0, stdout: expect.stringContaining("tendon.yaml") });
  });

  it("takes names, ports and https, and rejects what boards cannot use", async () => {
    for (const [reach, publicUrl] of [
      ["tendon.lan", "http://tendon.lan:8000"],
      ["http://tendon.lan:9000/", "http://tendon.lan:9000"],
      ["https://tendon.example", "https://tendon.example"],
    ] as const) {
      expect((await run(["init", "--reach", reach, "--yes", "--force"], { cwd })).code).toBe(0);
      expect(settings().http.publicUrl).toBe(publicUrl);
    }
    fs.rmSync(file());
    for (const [reach, words] of [
      ["http://[::1]:8000", /IPv6/],
      ["localhost", /other machines cannot reach it.*this-machine/],
      ["http://host/path", /without a path/],
    ] as const) {
      const { code, stderr } = await run(["init", "--reach", reach, "--yes"], { cwd });
      expect([code, stderr]).toEqual([2, expect.stringMatching(words)]);
    }
    const wrong = await run(["init", "--admission", "everyone", "--yes"], { cwd });
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringContaining("one of approve, list, open, closed"),
    ]);
    expect(fs.existsSync(file())).toBe(false);
  });

  it("uses the defaults with --yes, and the gateway starts with them", async () => {
    const { code, stdout } = await run(["init", "--yes", "--data", "my data", "--json"], { cwd });
    expect(code).toBe(0);
    const [lan] = lanAddresses();
    const publicUrl = lan === undefined ? null : `http://${lan.address}:8000`;
    expect(JSON.parse(stdout)).toMatchObject({
      file: "tendon.yaml",
      publicUrl,
      admission: "approve",
      client: "none",
    });
    expect(settings().data).toBe("my data");
    const serve = await startServe(cwd);
    await serve.process.end();
    expect(fs.existsSync(path.join(cwd, "my data", "admin-token"))).toBe(true);
  });

  it("stays on this machine if told so, and names the flag for open admission on a network", async () => {
    await run(["init", "--reach", "this-machine", "--admission", "open", "--yes"], { cwd });
    expect(settings().http).toMatchObject({ host: "127.0.0.1" });
    expect(settings().http.publicUrl).toBeUndefined();
    const open = await run(["init", "--reach", "tendon.lan", "--admission", "open", "--yes", "--force"], {
      cwd,
    });
    expect(open.stdout).toMatch(/serve --allow-open\n/);
    const list = await run(["init", "--reach", "tendon.lan", "--admission", "list", "--yes", "--force"], {
      cwd,
    });
    expect(list.stdout).toMatch(/device import FILE\n/);
  });

  it("never overwrites a file without --force", async () => {
    fs.writeFileSync(file(), "# mine\n");
    const { code, stderr } = await run(["init", "--yes"], { cwd });
    expect([code, stderr]).toEqual([1, expect.stringContaining("tendon.yaml exists already")]);
    expect(fs.readFileSync(file(), "utf8")).toBe("# mine\n");
    const other = await run(["init", "--yes", "--config", "other.yaml"], { cwd });
    expect(other).toMatchObject({ code: 0, stdout: expect.stringContaining("serve --config other.yaml") });
  });

  it("without a terminal names the flags", async () => {
    const { code, stderr } = await run(["init", "--reach", "tendon.lan"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toMatch(/--reach, --admission and --client.*--yes/);
    expect(fs.existsSync(file())).toBe(false);
  });
});

describe("tendon init on a terminal", () => {
  /** Types each answer when its question is there. */
  async function type(answers: readonly (readonly [question: RegExp, answer: string])[]): Promise<string> {
    // `script` runs the program on a terminal.
    const terminal = spawn("script", ["-qec", `'${process.execPath}' '${bin}' init`, "/dev/null"], {
      cwd,
      stdio: ["pipe", "pipe", "ignore"],
    });
    onTestFinished(() => void terminal.kill("SIGTERM"));
    let seen = "";
    let from = 0;
    const waiting = [...answers];
    terminal.stdout.on("data", (chunk: Buffer) => {
      seen += chunk.toString();
      const [question, answer] = waiting[0] ?? [];
      if (question === undefined || !question.test(seen.slice(from))) return;
      from = seen.length;
      waiting.shift();
      terminal.stdin.write(answer ?? "");
    });
    await once(terminal, "close");
    return seen;
  }

  it("asks three questions, explains a wrong answer, and takes numbers, words and Enter", async () => {
    const seen = await type([
      [/reach \[1\]: /, "http://[::1]\n"],
      [/IPv6[\s\S]*reach \[1\]: /, "tendon.lan\n"],
      [/admission \[1\]: /, "2\n"],
      [/client \[1\]: /, "\n"],
    ]);
    expect(seen).toMatch(/Where do boards reach[\s\S]*Who may join\?[\s\S]*Which agent's client/);
    expect(seen).toContain("tendon.yaml is written");
    expect(settings()).toMatchObject({
      http: { publicUrl: "http://tendon.lan:8000" },
      devices: { admission: "list" },
    });
  });

  it("writes nothing if it is ended before the last answer", async () => {
    const seen = await type([[/reach \[1\]: /, "\u0004"]]);
    expect(seen).toContain("Nothing was written");
    expect(fs.existsSync(file())).toBe(false);
  });
});
