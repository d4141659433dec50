/** Checks that everything the operators' files name exists, and builds the image's content. Tests have no container engine. */
import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { settingsReference } from "@tendon/gateway";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseAllDocuments } from "yaml";
import { RunningTendon } from "../packages/cli/test/run-tendon.ts";
import { askAll } from "./http-client.ts";
import { openSite } from "./site.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const folder = path.join(root, "deploy");
const run = promisify(execFile);

type Tree = { readonly [key: string]: unknown };

const files = fs
  .readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((file) => fs.statSync(path.join(folder, file)).isFile())
  .filter((file) => file !== ".env" && !file.startsWith("secrets"));
const read = (file: string) => fs.readFileSync(path.join(folder, file), "utf8");
const documents = (file: string) =>
  parseAllDocuments(read(file), { merge: true }).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as Tree;
  });
const first = (file: string) => documents(file)[0] as Tree;

/** Follows names and numbers into a parsed file. */
function at(tree: unknown, ...way: (string | number)[]): unknown {
  return way.reduce<unknown>((inner, key) => (inner as Tree | undefined)?.[key], tree);
}

const variables = new Set([
  ...settingsReference().flatMap(({ variable }) => (variable === undefined ? [] : [variable])),
  "TENDON_TOKEN",
]);
const kubernetes = files
  .filter((file) => file.startsWith("kubernetes"))
  .flatMap((file) => documents(file).map((tree) => ({ kind: String(tree["kind"]), tree })));
const ofKind = (wanted: string) => kubernetes.filter(({ kind }) => kind === wanted).map(({ tree }) => tree);

describe("operators' files", () => {
  it.each(files.filter((file) => /\.ya?ml$/.test(file)))("%s is YAML", (file) => {
    expect(documents(file).length).toBeGreaterThan(0);
  });

  it.each(files.filter((file) => !file.endsWith(".mjs")))("%s names only settings that exist", (file) => {
    const named = [...read(file).matchAll(/\bTENDON_[A-Z_]*[A-Z]\b/g)].map(([name]) => name);
    // A comment warns about one that Kubernetes would create.
    const wrong = named.filter((name) => !variables.has(name) && name !== "TENDON_PORT");
    expect(wrong).toEqual([]);
  });

  it.each(files)("%s has no secret in it", (file) => {
    const values = [...read(file).matchAll(/(?:TOKEN|PASSWORD)["']?\s*[:=]\s*(\S+)/g)].map(([, v = ""]) => v);
    expect(values.filter((value) => !/^(""|\$|…|postgres|\\|\?)/.test(value))).toEqual([]);
  });
});

describe("the image", () => {
  const text = read("Dockerfile");
  const [build = "", final = ""] = text.split(/^FROM .*$/m).slice(1);
  const packages = fs.readdirSync(path.join(root, "packages"));

  it("installs from the manifests of all packages before it copies the sources, so that the layer is cached", () => {
    const install = build.indexOf("RUN npm ci ");
    expect(build.indexOf("COPY . .")).toBeGreaterThan(install);
    const before = build.slice(0, install);
    expect(before).toContain("COPY package.json package-lock.json .npmrc ./");
    for (const name of packages)
      expect(before).toContain(`COPY packages/${name}/package.json packages/${name}/\n`);
  });

  it("runs as a non-root user, exposes every port, and is built from a source without secrets", () => {
    expect(/^USER (\d+)/m.exec(final)?.[1]).not.toBe("0");
    const defaults = Object.fromEntries(settingsReference().map(({ name, default: value }) => [name, value]));
    const [http, mqtt, udp] = ["http.port", "mqtt.port", "voice.udpPort"].map((name) =>
      String(defaults[name]),
    );
    expect(final).toContain(`EXPOSE ${http} ${mqtt} 8883 ${udp}/udp\n`);
    expect(read("Dockerfile.dockerignore").split("\n")).toEqual(expect.arrayContaining([".git", "deploy/*"]));
  });

  it("has a health check that passes for a live gateway and fails for a dead one", async () => {
    const site = await openSite();
    const check = path.join(folder, "healthcheck.mjs");
    await run(process.execPath, [check, site.folder]);
    await site.tendon.stop();
    await expect(run(process.execPath, [check, site.folder])).rejects.toThrow();
  });

  /** All but `npm ci`, whose result is the checkout's own node_modules, and the packages of Debian. */
  it("is built from its ignore file and its build stage, and runs with the console and every guide", async () => {
    const base = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-image-"));
    onTestFinished(() => fs.rmSync(base, { recursive: true, force: true }));
    const source = path.join(base, "src");
    copyContext(source);
    linkModules(source);
    copyCompiled(source);
    const [, command = ""] = /^COPY \. \.\nRUN (.+)$/m.exec(build) ?? [];
    expect(command).toBe("node scripts/build.mjs && node scripts/package.mjs --app");
    await run("sh", ["-c", command], { cwd: source });

    const copied = [...final.matchAll(/^COPY (--from=build )?(\S+) (\S+)$/gm)];
    expect(copied).toHaveLength(2);
    for (const [, fromBuild, from = "", to = ""] of copied) {
      const place = fromBuild === undefined ? path.join(source, from) : from.replace("/src", source);
      fs.cpSync(place, path.join(base, to), { recursive: true, verbatimSymlinks: true });
    }
    // Nothing of the checkout is needed any more.
    fs.rmSync(source, { recursive: true });
    const bin = /ln -s (\S+) \/usr\/local\/bin\/tendon/.exec(final)?.[1] ?? "";
    fs.mkdirSync(path.join(base, "bin"));
    fs.symlinkSync(path.join(base, bin), path.join(base, "bin", "tendon"));
    fs.mkdirSync(path.join(base, "data"));
    const variables = Object.fromEntries(
      (/^ENV (.+)$/m.exec(final)?.[1] ?? "").split(" ").map((each) => each.split("=") as [string, string]),
    );
    const gateway = new RunningTendon(
      ["serve", "--port", "0", "--mqtt-port", "0"],
      {
        cwd: path.join(base, "data"),
        env: {
          ...variables,
          TENDON_DATA: path.join(base, "data"),
          PATH: path.join(base, "bin"),
        },
      },
      path.join(base, bin),
    );
    onTestFinished(async () => void (await gateway.end()));
    const [, url = ""] = await gateway.until("stdout", /^tendon ready (\S+)$/m);
    await gateway.until("stdout", /try +tendon devices\n/);
    expect(gateway.stdout).toMatch(
      /console +http:\/\/[\d.]+:\d+\/ {2}\(`tendon console` prints a link that signs in\)/,
    );
    expect(gateway.stdout).toMatch(/OTA address\) .*(TENDON_HTTP_PUBLIC_URL|http\.publicUrl)/);
    expect(await (await fetch(url)).text()).toContain("/assets/");
    const assets = fs.readdirSync(path.join(base, "app", "assets", "console", "assets"));
    const guides = ["guides", "reference", "operations"].flatMap((each) =>
      fs.readdirSync(path.join(root, "docs", each)).filter((file) => file.endsWith(".md")),
    );
    expect(guides.length).toBeGreaterThan(30);
    const missing = guides.filter(
      (guide) => !assets.some((asset) => asset.startsWith(guide.replace(/md$/, "").replace(/\.$/, "-"))),
    );
    expect(missing).toEqual([]);
    await run(process.execPath, [path.join(base, "app", "healthcheck.mjs"), path.join(base, "data")]);
  });
});

/** What Docker sends to the build: the working tree without what the ignore file names. */
function copyContext(to: string): void {
  const rules = read("Dockerfile.dockerignore")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => ({ keep: line.startsWith("!"), pattern: patternOf(line.replace(/^!/, "")) }));
  const isIgnored = (file: string) => {
    const last = rules.findLast(({ pattern }) => pattern.test(file));
    return last !== undefined && !last.keep;
  };
  fs.cpSync(root, to, {
    recursive: true,
    preserveTimestamps: true,
    filter: (from) => {
      const file = path.relative(root, from).replaceAll(path.sep, "/");
      // A folder whose content has an exception is entered.
      return file === "" || file === "deploy" || !isIgnored(file);
    },
  });
}

function patternOf(line: string): RegExp {
  const parts = line
    .replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("**/", "\0")
    .replaceAll("*", "[^/]*")
    .replaceAll("\0", "(?:.*/)?");
  return new RegExp(`^${parts}(?:/.*)?$`);
}

/** The compiler's earlier output: it compares its inputs, and compiles only what differs. From nothing it takes 17 s. */
function copyCompiled(to: string): void {
  for (const name of ["protocol", "gateway", "simulator", "cli", "client"]) {
    const from = path.join(root, "packages", name, "dist");
    const target = path.join(to, "packages", name, "dist");
    const filter = (file: string) => !file.startsWith(path.join(from, "console"));
    if (fs.existsSync(from)) fs.cpSync(from, target, { recursive: true, preserveTimestamps: true, filter });
  }
}

/** What `npm ci` would install, with the packages of the copy. */
function linkModules(at: string): void {
  const modules = path.join(at, "node_modules");
  fs.mkdirSync(path.join(modules, "@tendon"), { recursive: true });
  for (const entry of fs.readdirSync(path.join(root, "node_modules"))) {
    if (entry !== "@tendon" && entry !== ".cache")
      fs.symlinkSync(path.join(root, "node_modules", entry), path.join(modules, entry));
  }
  for (const name of fs.readdirSync(path.join(at, "packages")))
    fs.symlinkSync(path.join(at, "packages", name), path.join(modules, "@tendon", name));
}

describe("compose.yaml", () => {
  const services = at(first("compose.yaml"), "services") as { readonly [name: string]: Tree };
  const nodes = Object.keys(services).filter((name) => name.startsWith("tendon-"));

  it("mounts only existing files, and declares every volume", () => {
    const volumes = Object.keys(at(first("compose.yaml"), "volumes") as Tree);
    const used = Object.values(services).flatMap(({ volumes: own }) => (own ?? []) as string[]);
    for (const from of used.map((each) => each.split(":")[0] ?? "")) {
      if (from.startsWith("./")) expect(fs.existsSync(path.join(folder, from))).toBe(true);
      else expect(volumes).toContain(from);
    }
  });

  it("gives nodes and the balancer enough open files, and bounds every log", () => {
    for (const service of Object.values(services))
      expect(at(service, "logging", "options", "max-size")).toBe("20m");
    for (const name of [...nodes, "balancer"])
      expect(at(services[name], "ulimits", "nofile")).toBeGreaterThan(100_000);
    for (const name of nodes) expect(services[name]?.["stop_grace_period"]).toBe("30s");
  });

  it("has its three nodes in the balancer and in Prometheus, under their own names", () => {
    expect(nodes).toEqual(["tendon-1", "tendon-2", "tendon-3"]);
    for (const name of nodes) expect(services[name]?.["hostname"]).toBe(name);
    const backends = read("haproxy.cfg")
      .split(/^backend /m)
      .slice(1);
    expect(backends.length).toBe(6);
    for (const backend of backends)
      for (const name of nodes) expect(backend).toMatch(new RegExp(`server ${name} ${name}:(8000|1883) `));
    const targets = at(first("prometheus.yaml"), "scrape_configs", 0, "static_configs", 0, "targets");
    expect(targets).toEqual(nodes.map((name) => `${name}:8000`));
  });
});

describe("the files' own linters", () => {
  it("HAProxy accepts its file, also under an ordinary limit of open files", async () => {
    const nodes = ["tendon-1", "tendon-2", "tendon-3"];
    const text = nodes.reduce((all, name) => all.replaceAll(`${name}:`, "127.0.0.1:"), read("haproxy.cfg"));
    const base = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-haproxy-"));
    onTestFinished(() => fs.rmSync(base, { recursive: true, force: true }));
    const file = path.join(base, "haproxy.cfg");
    fs.writeFileSync(file, text);
    const { stdout, stderr } = await run("sh", ["-c", `ulimit -n 1024; haproxy -c -f ${file}`]);
    expect(stdout + stderr).toContain("Configuration file is valid");
    expect(stdout + stderr).not.toMatch(/WARNING|ALERT/);
  });

  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  const promtool = folders.map((each) => path.join(each, "promtool")).find((each) => fs.existsSync(each));

  it("promtool accepts the alerts and the configuration of Prometheus", async ({ skip }) => {
    if (promtool === undefined) {
      skip("promtool is not installed (Debian: prometheus); `promtool check rules deploy/alerts.yaml`");
      return;
    }
    const { stdout } = await run(promtool, ["check", "rules", path.join(folder, "alerts.yaml")]);
    expect(stdout).toContain("SUCCESS");
  });
});

describe("Kubernetes", () => {
  const [set] = ofKind("StatefulSet");
  const pod = at(set, "spec", "template", "spec");
  const container = at(pod, "containers", 0);

  it("gives the nodes existing settings, and secrets without values", () => {
    const [settings] = ofKind("ConfigMap");
    const [secret] = ofKind("Secret");
    const names = [
      ...Object.keys(at(settings, "data") as Tree),
      ...Object.keys(at(secret, "stringData") as Tree),
    ];
    expect(names.filter((name) => !variables.has(name))).toEqual([]);
    expect(Object.values(at(secret, "stringData") as Tree)).toEqual(["", "", ""]);
    // An unknown TENDON_ variable stops the start, and Kubernetes creates some from a Service's name.
    expect(at(pod, "enableServiceLinks")).toBe(false);
  });

  it("selects the pods by their labels, and the ports by their names", () => {
    const labels = at(set, "spec", "template", "metadata", "labels");
    const ports = (at(container, "ports") as { name: string; containerPort: number }[]).map(
      ({ name }) => name,
    );
    expect(at(set, "spec", "selector", "matchLabels")).toEqual(labels);
    expect(ofKind("Service").map((each) => at(each, "metadata", "name"))).toContain(
      at(set, "spec", "serviceName"),
    );
    for (const service of ofKind("Service")) {
      expect(at(service, "spec", "selector")).toEqual(labels);
      for (const port of at(service, "spec", "ports") as { targetPort: string }[])
        expect(ports).toContain(port.targetPort);
    }
    expect(at(ofKind("PodDisruptionBudget")[0], "spec", "selector", "matchLabels")).toEqual(labels);
  });

  it("waits for the end of a drain", () => {
    const settings = at(ofKind("ConfigMap")[0], "data");
    const drainMs =
      Number(at(settings, "TENDON_DRAIN_READY_DELAY_MS")) + Number(at(settings, "TENDON_DRAIN_TIMEOUT_MS"));
    expect(drainMs).toBeGreaterThan(10_000);
    expect(at(pod, "terminationGracePeriodSeconds")).toBeGreaterThan(drainMs / 1_000);
  });

  it("keeps nodes in the Service while an engine is away, and replaces one at a time", () => {
    expect(at(container, "livenessProbe", "httpGet", "path")).toBe("/healthz");
    expect(at(container, "readinessProbe", "httpGet", "path")).toBe("/readyz?part=gateway");
    expect(at(set, "spec", "minReadySeconds")).toBeGreaterThan(0);
    expect(at(ofKind("PodDisruptionBudget")[0], "spec", "maxUnavailable")).toBe(1);
    const published = ofKind("Service").flatMap((service) => at(service, "spec", "ports") as Tree[]);
    expect(new Set(published.map(({ port }) => port))).toEqual(new Set([8000, 1883, 8883, 8884]));
    expect(at(ofKind("ServiceMonitor")[0], "spec", "endpoints", 0, "path")).toBe("/metrics");
  });
});

describe("requests to a running gateway", () => {
  it("use existing paths, and existing metrics in the dashboard and alerts", async () => {
    const site = await openSite();
    const probed = ["haproxy.cfg", "kubernetes/nodes.yaml", "prometheus.yaml"].flatMap((file) =>
      [...read(file).matchAll(/(?:GET |path: )(\/[a-z]+)/g)].map(([, found = ""]) => found),
    );
    expect([...new Set(probed)].sort()).toEqual(["/healthz", "/metrics", "/readyz"]);
    for (const probe of probed) expect((await askAll(site.url, { path: probe })).status).toBe(200);

    const { text } = await askAll(site.url, { path: "/metrics" });
    const known = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = ""]) => name));
    const asked = ["alerts.yaml", "grafana/dashboards/tendon.json"].flatMap((file) =>
      [...read(file).matchAll(/\b(?:tendon|nodejs|process)_[a-z0-9_]+/g)].map(([name]) =>
        name.replace(/_bucket$/, ""),
      ),
    );
    expect(asked.length).toBeGreaterThan(15);
    expect(asked.filter((name) => !known.has(name))).toEqual([]);
    const own = [...known].filter((name) => name.startsWith("tendon_"));
    expect(await site.metric('tendon_part_unready{part="storage"}')).toBe(0);
    const guide = fs.readFileSync(path.join(root, "docs", "operations", "operate.md"), "utf8");
    expect(own.filter((name) => !guide.includes(`\`${name}\``))).toEqual([]);
  });
});

describe("the unit", () => {
  it("has only sections, comments and settings, and starts the command", () => {
    const lines = read("systemd/tendon.service").split("\n");
    expect(lines.filter((line) => !/^(|#.*|\[[A-Z][a-z]+\]|[A-Z][A-Za-z]+=.*)$/.test(line))).toEqual([]);
    const start = lines.find((line) => line.startsWith("ExecStart="));
    expect(start).toBe("ExecStart=/usr/bin/node /opt/tendon/bin/tendon.js serve");
    expect(fs.existsSync(path.join(root, "packages", "cli", "bin", "tendon.js"))).toBe(true);
  });
});
