import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { type Config, type ConfigSources, loadConfig, StartError, startTendon } from "@tendon/gateway";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";

let folder = "";

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-config-"));
});

afterEach(() => {
  fs.rmSync(folder, { recursive: true, force: true });
});

function write(text: string, name = "tendon.yaml"): string {
  const file = path.join(folder, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
  return file;
}

function load(sources: ConfigSources = {}): Config {
  return loadConfig({ searchIn: [folder], ...sources }).config;
}

function problems(sources: ConfigSources): readonly string[] {
  try {
    loadConfig(sources);
  } catch (error) {
    if (error instanceof StartError) return error.problems;
    throw error;
  }
  return [];
}

describe("settings", () => {
  it("have defaults that need no file", () => {
    expect(load()).toMatchObject({
      http: { host: "127.0.0.1", port: 8000, trustProxy: false, allowedOrigins: [] },
      data: "./data",
      devices: { admission: "approve", capabilities: {} },
      calls: { timeoutMs: 30_000, queue: 32 },
      log: { level: "info" },
    });
  });

  it("come from the file, then the environment, then the starting program", () => {
    write("http:\n  port: 1111\n  host: 127.0.0.2\nlog:\n  level: warn\ncalls:\n  queue: 5\n");
    const config = load({
      env: { TENDON_HTTP_PORT: "2222", TENDON_LOG_LEVEL: "error", PATH: "/bin" },
      overrides: { http: { port: 3333 } },
    });
    expect(config.http).toMatchObject({ port: 3333, host: "127.0.0.2" });
    expect(config.log.level).toBe("error");
    expect(config.calls.queue).toBe(5);
  });

  it("in short form are reported with their line too", () => {
    const file = write("http:\n  port: 1111\nvoice:\n  udpPort: 0\n  upstream: http://foo\n");
    expect(problems({ file })[0]).toMatch(`${file}:5: \`voice.upstream.0.url\` must match`);
    const one = write("voice:\n  upstream:\n    url: http://foo\n");
    expect(problems({ file: one })[0]).toMatch(/:[23]: `voice.upstream.0.url` must match/);
    const list = write("voice:\n  upstream:\n    - device: desk\n      url: http://foo\n");
    expect(problems({ file: list })[0]).toMatch(`${file}:4: `);
  });

  it("cannot be changed once loaded", () => {
    const config = load();
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.devices.capabilities)).toBe(true);
  });

  test.each(["", "\n# nothing but a comment\n", "---\n", "http:\ndevices:\n"])(
    "can be an empty file or have empty sections: %j",
    (text) => {
      write(text);
      expect(load().http.port).toBe(8000);
    },
  );

  it("that are undefined count as missing", () => {
    write("http:\n  port: 1111\n");
    const overrides = { http: { port: undefined } } as unknown as ConfigSources["overrides"];
    expect(load({ ...(overrides === undefined ? {} : { overrides }) }).http.port).toBe(1111);
  });
});

describe("the file", () => {
  it("is found in the working folder before the data folder", () => {
    write("log:\n  level: warn\n");
    write("log:\n  level: error\n", "data/tendon.yaml");
    const data = path.join(folder, "data");
    const loaded = loadConfig({ searchIn: [folder], overrides: { data } });
    expect(loaded.config.log.level).toBe("warn");
    expect(loaded.file).toBe(path.join(folder, "tendon.yaml"));
    const elsewhere = path.join(folder, "elsewhere");
    expect(load({ searchIn: [elsewhere], overrides: { data } }).log.level).toBe("error");
    expect(load({ searchIn: [elsewhere], env: { TENDON_DATA: data } }).log.level).toBe("error");
  });

  it("must exist when it is named", () => {
    const file = path.join(folder, "missing.yaml");
    expect(problems({ file })).toEqual([expect.stringContaining(`${file}: cannot be read`)]);
  });

  it("is preferred when it is named", () => {
    write("log:\n  level: warn\n");
    const file = write("log:\n  level: trace\n", "other.yaml");
    expect(load({ file }).log.level).toBe("trace");
  });

  it("with broken YAML is reported with its line", () => {
    const file = write("http:\n  port: 1\n  host: [1, 2\nlog:\n");
    expect(problems({ file })[0]).toMatch(new RegExp(`^${file}:[345]: \\S`));
  });

  test.each(["- a\n- b\n", "just text\n", "7\n"])("is rejected when it is not a mapping: %j", (text) => {
    const file = write(text);
    expect(problems({ file })).toEqual([`${file}:1: must be a list of settings (key: value)`]);
  });

  it("with an unknown key is reported with its line and the key that was meant", () => {
    const file = write("# first\nhttp:\n  prot: 8000\n");
    expect(problems({ file })).toEqual([`${file}:3: unknown setting \`http.prot\`; did you mean \`port\`?`]);
  });

  it("with an unknown section is reported with the section's own line", () => {
    const file = write("log:\n  level: warn\ndevicez:\n  admission: open\n");
    expect(problems({ file })).toEqual([`${file}:3: unknown setting \`devicez\`; did you mean \`devices\`?`]);
  });

  it.each([
    "__proto__: { port: 1 }",
    "http:\n  __proto__: { port: 1 }",
    "access:\n  rules: [{ __proto__: {} }]",
  ])("rejects a key named __proto__: %j", (text) => {
    const file = write(`${text}\n`);
    expect(problems({ file })).toEqual([`${file}: a key must not be named \`__proto__\``]);
  });

  it.each(["a: &a [*a]", `http: ${"[".repeat(40)}${"]".repeat(40)}`])(
    "rejects settings without an end, or nested too deeply: %j",
    (text) => {
      const file = write(`${text}\n`);
      expect(problems({ file })).toEqual([`${file}: settings must not be nested deeper than 32 levels`]);
    },
  );

  it("with an unknown key is reported with the known keys", () => {
    const file = write("calls:\n  completely_different: 1\n");
    expect(problems({ file })).toEqual([
      `${file}:2: unknown setting \`calls.completely_different\`; known settings are timeoutMs, queue, keepArguments, keepDays, keepCount`,
    ]);
  });

  test.each([
    ["http:\n  port: 70000\n", 2, "http.port"],
    ["http:\n  port: eight\n", 2, "http.port"],
    ["\nhttp:\n  host: ''\n", 3, "http.host"],
    ["http:\n  publicUrl: tendon.local\n", 2, "http.publicUrl"],
    ["calls:\n  queue: 0\n", 2, "calls.queue"],
    ["calls:\n  timeoutMs: 1.5\n", 2, "calls.timeoutMs"],
    ["http:\n  trustProxy: maybe\n", 2, "http.trustProxy"],
    ["data: 5\n", 1, "data"],
  ])("with a wrong value is reported with its line: %j", (text, line, name) => {
    const file = write(text);
    const [first = "", ...others] = problems({ file });
    expect(first.startsWith(`${file}:${line}: \`${name}\` must`)).toBe(true);
    expect(others).toEqual([]);
  });

  test.each([
    "*",
    "null",
    "agent.example",
    "https://",
    "https://agent.example/",
    "https://agent.example/page",
    "https://*.agent.example",
    "https://user@agent.example",
    "https://a.example, https://b.example",
  ])("with an invalid origin is reported with a description: %s", (origin) => {
    const file = write(`http:\n  allowedOrigins:\n    - ${JSON.stringify(origin)}\n`);
    const [first = "", ...others] = problems({ file });
    expect(first).toContain(`${file}:3: \`http.allowedOrigins.0\` must be an origin as browsers send it`);
    expect(others).toEqual([]);
    const unreadable = { TENDON_HTTP_ALLOWED_ORIGINS: '["https://[::"]' };
    expect(problems({ env: unreadable })).toEqual([
      "TENDON_HTTP_ALLOWED_ORIGINS: `http.allowedOrigins.0` must name a host",
    ]);
    const good = ["https://agent.example", "http://localhost:6274", "chrome-extension://abcdef"];
    const env = { TENDON_HTTP_ALLOWED_ORIGINS: JSON.stringify(good) };
    expect(load({ env }).http.allowedOrigins).toEqual(good);
  });

  it("with an invalid choice is reported with the choices", () => {
    const file = write("devices:\n  admission: everybody\n");
    const [first] = problems({ file });
    expect(first).toContain(`${file}:2: \`devices.admission\` must be one of approve, `);
    expect(first).toContain("closed");
  });

  it("with mistakes inside lists is reported with their lines", () => {
    const file = write(
      "devices:\n  stdio:\n    - alias: lamp\n      comand: x\n    - { alias: Lamp, command: 7 }\naccess:\n  rules:\n    - { tool: a, efect: deny }\n",
    );
    expect(problems({ file })).toEqual(
      expect.arrayContaining([
        `${file}:4: unknown setting \`devices.stdio.0.comand\`; did you mean \`command\`?`,
        expect.stringMatching(
          /:5: `devices\.stdio\.1\.alias` must have lower-case letters .* such as `living-room`/,
        ),
        expect.stringMatching(/:5: `devices\.stdio\.1\.command` must be string/),
        `${file}:8: unknown setting \`access.rules.0.efect\`; did you mean \`effect\`?`,
      ]),
    );
  });

  test.each([
    ["http: *nowhere\n", /: Unresolved alias/],
    ["http:\n\tport: 1\n", /:2: Tabs are not allowed as indentation$/],
    ["http:\n  port: 1\nhttp:\n  port: 2\n", /:3: Map keys must be unique$/],
    [
      "a: &a [x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c]\n",
      /alias/,
    ],
  ])("is reported without a crash when YAML rejects it: %j", (text, words) => {
    const file = write(text);
    const [first = "", ...others] = problems({ file });
    expect(first).toMatch(words);
    expect(others).toEqual([]);
  });

  it("with very many mistakes is reported with all of them", () => {
    const file = write(Array.from({ length: 30 }, (_, at) => `unknown${at}: 1\n`).join(""));
    expect(problems({ file })).toHaveLength(30);
  });

  it("is reported with all problems at once", () => {
    const file = write("http:\n  port: -1\n  hots: x\nlog:\n  level: loud\n");
    expect(problems({ file })).toHaveLength(3);
  });
});

describe("access rules", () => {
  const rule = (text: string) => `access:\n  rules:\n    - { effect: deny }\n    - ${text}\n`;

  it("are read in their order", () => {
    write(
      rule('{ tool: "self.*", args: { level: { min: 5 }, "/a/b": [x, 1] }, effect: confirm, via: queue }'),
    );
    expect(load().access.rules[1]).toEqual({
      tool: "self.*",
      args: { level: { min: 5 }, "/a/b": ["x", 1] },
      effect: "confirm",
      via: "queue",
    });
    expect(load().access).toMatchObject({ default: "allow", urlHosts: [] });
  });

  test.each([
    ["{ tool: x }", "`access.rules.1` must have required properties effect"],
    ["{ effect: maybe }", "`access.rules.1.effect` must be one of allow, confirm, deny"],
    ["{ effect: deny, tols: x }", "unknown setting `access.rules.1.tols`; did you mean `tool`?"],
    ["{ effect: deny, tool: '' }", "`access.rules.1.tool` must"],
    ["{ effect: deny, tool: [a] }", "`access.rules.1.tool` must be string"],
    ["{ effect: deny, args: {} }", "`access.rules.1.args` must"],
    ["{ effect: deny, args: { a: { mni: 5 } } }", "`access.rules.1.args.a` has `mni`; it must be a value"],
    [
      "{ effect: deny, args: { a: { min: five } } }",
      "`access.rules.1.args.a` must have numbers as min and max",
    ],
    ["{ effect: deny, args: { a: { min: 5, max: 4 } } }", "`access.rules.1.args.a` has a min above its max"],
    ["{ effect: deny, args: { a: [] } }", "`access.rules.1.args.a` must list 1 to 100"],
    ["{ effect: deny, args: { a: [[1]] } }", "`access.rules.1.args.a` must list 1 to 100"],
    ["{ effect: deny, args: { a: { pattern: 5 } } }", "`access.rules.1.args.a` must be a value"],
    ["{ effect: deny, args: { a: { pattern: x, min: 1 } } }", "`access.rules.1.args.a` must be a value"],
    ["{ effect: deny, args: { a: { present: 1 } } }", "`access.rules.1.args.a` must be a value"],
    ["{ effect: deny, args: { a: {} } }", "`access.rules.1.args.a` must be a value"],
    ["{ effect: deny, via: queue }", "`access.rules.1.via` is allowed with `effect: confirm` only"],
  ])("stop the start with line and key when they are invalid: %s", (text, message) => {
    const file = write(rule(text));
    const [first = "", ...others] = problems({ file });
    expect(first.startsWith(`${file}:4: ${message}`)).toBe(true);
    expect(others).toEqual([]);
  });

  test.each([
    "http://a.example/path",
    "a b",
    "ftp://a.example",
    "a.*.example",
    "*a.example",
    "user@a.example",
    "0x7f.1",
    "127.1",
    "bücher.example",
    "a.example:port",
    "//a.example",
    "[::ffff:127.0.0.1]",
  ])("name hosts as browsers write them, not %j", (host) => {
    const file = write(`access:\n  urlHosts:\n    - good.example\n    - ${JSON.stringify(host)}\n`);
    expect(problems({ file })).toEqual([
      expect.stringMatching(
        new RegExp(`^${file}:4: \`access.urlHosts.1\` must be a host as browsers write it`),
      ),
    ]);
  });

  it("from a variable are reported with its name", () => {
    const env = { TENDON_ACCESS_RULES: '[{"effect":"deny","args":{"a":{}}}]' };
    expect(problems({ env })[0]).toMatch(/^TENDON_ACCESS_RULES: `access.rules.0.args.a` must/);
    expect(load({ env: { TENDON_ACCESS_URL_HOSTS: '["a.example"]' } }).access.urlHosts).toEqual([
      "a.example",
    ]);
  });
});

describe("environment variables", () => {
  it("are named after the setting, split at capitals", () => {
    const env = {
      TENDON_HTTP_PUBLIC_URL: "https://tendon.example",
      TENDON_CALLS_TIMEOUT_MS: "1500",
      TENDON_HTTP_TRUST_PROXY: "true",
      TENDON_DEVICES_CAPABILITIES: '{"vision":{"url":"http://127.0.0.1/v"}}',
    };
    const config = load({ env });
    expect(config.http.publicUrl).toBe("https://tendon.example");
    expect(config.calls.timeoutMs).toBe(1_500);
    expect(config.http.trustProxy).toBe(true);
    expect(config.devices.capabilities).toEqual({ vision: { url: "http://127.0.0.1/v" } });
  });

  it("that are not a setting are rejected by name", () => {
    const [first] = problems({ env: { TENDON_HTTP_PROT: "1" } });
    expect(first).toBe("TENDON_HTTP_PROT: is not a setting; did you mean TENDON_HTTP_PORT?");
    expect(problems({ env: { TENDON_QUITE_ANOTHER: "1" } })[0]).toContain(
      "is not a setting; `tendon config show`",
    );
    expect(problems({ env: { TENDON_DEVICES_STDIO: "[]" } })[0]).toContain("can be set in the file only");
  });

  test.each([
    ["TENDON_HTTP_PORT", "eight"],
    ["TENDON_HTTP_PORT", ""],
    ["TENDON_HTTP_PORT", "8000.5"],
    ["TENDON_HTTP_TRUST_PROXY", "yes"],
    ["TENDON_DEVICES_ADMISSION", "everybody"],
    ["TENDON_DEVICES_CAPABILITIES", "{broken"],
  ])("with a wrong value are reported: %s=%s", (name, value) => {
    const found = problems({ env: { [name]: value } });
    expect(found).toHaveLength(1);
    expect(found[0]?.startsWith(`${name}: `)).toBe(true);
  });

  it("that select a gateway for commands are not settings", () => {
    const env = { TENDON_URL: "http://127.0.0.1:1", TENDON_CONFIG: "x", HOME: "/root" };
    expect(problems({ env })).toEqual([]);
  });

  it("set the admin token, which is not part of the settings", () => {
    const token = "sixteen-letters!";
    const loaded = loadConfig({ env: { TENDON_TOKEN: token } });
    expect(loaded.adminToken).toBe(token);
    expect(JSON.stringify(loaded.config)).not.toContain(token);
  });

  it("reject an admin token that is too short, without printing it", () => {
    const found = problems({ env: { TENDON_TOKEN: "short-secret" } });
    expect(found).toEqual(["TENDON_TOKEN: must have 16 characters or more"]);
  });
});

describe("a gateway inside another program", () => {
  it("reads no file and no environment variable", async () => {
    write("nonsense: true\n");
    const tendon = await startTendon(
      { data: folder, http: { port: 0 }, mqtt: { port: 0 }, log: { level: "silent" } },
      { adminToken: "a-token-for-this-test" },
    );
    await tendon.stop();
    expect(tendon.config.http.port).toBe(0);
  });
});
