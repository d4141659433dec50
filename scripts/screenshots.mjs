// `npm run screenshots`: runs the demo, gives it a little history, and takes the pictures of README.md and docs/guides/console.md
// into docs/images, with the same Chromium that the tests use. `npm run screenshots -- firmware voice` takes only these.
import { spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const images = path.join(root, "docs", "images");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-screenshots-"));
const tendon = path.join(root, "packages", "cli", "bin", "tendon.js");
const token = "a-token-for-the-screenshots";
const desk = { width: 1280, height: 800 };
const phone = { width: 390, height: 800 };

// People have better fonts than a server; where Inter and Noto are installed they are used for the pictures.
const fonts = path.join(folder, "fonts.conf");
const families = (names) => names.map((name) => `<family>${name}</family>`).join("");
fs.writeFileSync(
  fonts,
  `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><include>/etc/fonts/fonts.conf</include>${[
    "system-ui",
    "sans-serif",
  ]
    .map(
      (name) =>
        `<match target="pattern"><test name="family"><string>${name}</string></test><edit name="family" mode="prepend" binding="strong"><string>Inter</string></edit></match>`,
    )
    .join(
      "",
    )}<alias><family>Inter</family><prefer>${families(["Inter", "Noto Sans CJK SC"])}</prefer></alias></fontconfig>`,
);

/** Starts a command of ours and waits for what it says first. */
async function start(args) {
  const child = spawn(process.execPath, [tendon, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TENDON_TOKEN: token },
    stdio: ["ignore", "pipe", "ignore"],
  });
  running.push(child);
  const told = await new Promise((resolve, reject) => {
    child.once("exit", () => reject(new Error(`tendon ${args[0]} did not start; is it built?`)));
    child.stdout.once("data", (line) => resolve(JSON.parse(line)));
  });
  return told;
}
const running = [];

const talkers = ["02:00:00:de:40:01", "02:00:00:de:40:02"];
/** The tokens in the addresses of two agents; one expires soon. */
const agentTokens = [1_000_001, 1_000_002].map((agentId, at) => {
  const exp = Math.floor(Date.now() / 1_000) + (at === 0 ? 300 : 20) * 86_400;
  return `e30.${Buffer.from(JSON.stringify({ agentId, exp })).toString("base64url")}.simulated`;
});
const broker = (agentToken, ...more) =>
  start(["simulate", "endpoint-broker", "--port", "0", "--agent-token", agentToken, "--json", ...more]);
const agents = await Promise.all([
  broker(agentTokens[0], "--call-tool", "devices_list"),
  broker(agentTokens[1], "--fault", "close-4004"),
]);
const voiceServer = await start(["simulate", "voice-server", "--port", "0", "--json"]);
fs.writeFileSync(
  path.join(folder, "tendon.yaml"),
  JSON.stringify({
    access: {
      rules: [{ tool: "self.screen.set_theme", principal: "kitchen-agent", effect: "confirm" }],
    },
    agents: { endpoints: agents.map((agent) => ({ url: agent.url, token: "voice" })) },
    endpoint: { enabled: true },
    voice: { udpPort: 0, upstream: talkers.map((device) => ({ device, url: voiceServer.url })) },
  }),
);
fs.mkdirSync(path.join(folder, "data"));
fs.writeFileSync(
  path.join(folder, "data", "home.yaml"),
  "lights: [salon, cocina, dormitorio, bano, garage]\nfeatures: [presence, climate]\n",
);

const { url } = await start(["serve", "--demo", "--port", "0", "--mqtt-port", "0", "--json"]);

async function rest(method, at, body, as = token) {
  const answer = await fetch(`${url}/api/v1${at}`, {
    method,
    headers: { authorization: `Bearer ${as}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return answer.status === 204 ? undefined : await answer.json();
}

const call = (device, tool, args = {}, as = token) =>
  rest("POST", `/devices/${device}/tools/${tool}/call`, { arguments: args }, as);

async function until(test) {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if (await test()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the demo did not become what the pictures need");
}

/** A little of everything, so that no page is empty. */
async function live() {
  await until(
    async () =>
      (await rest("GET", "/devices?online=true")).devices.filter((one) => one.toolsComplete).length === 3,
  );
  const board = async (alias, tags) => {
    const { id } = await rest("POST", "/demo/devices");
    await until(async () => (await rest("GET", `/devices/${id}`)).toolsComplete === true);
    await rest("PATCH", `/devices/${id}`, { alias, tags });
    return id;
  };
  /** One that says something every few seconds. */
  const talking = async (alias, at, tags) => {
    const id = talkers[at];
    const how = ["--transport", "mqtt", "--board", "bread-compact-wifi", "--id", id, "--speak", `${at + 1}s`];
    await start(["simulate", "esp32", "--url", url, "--json", ...how]);
    await until(async () => (await rest("GET", `/devices/${id}`)).toolsComplete === true);
    await rest("PATCH", `/devices/${id}`, { alias, tags });
  };
  await rest("PATCH", "/devices/02:00:00:de:30:01", { alias: "desk", tags: ["study"] });
  await rest("PATCH", "/devices/02:00:00:de:30:02", { alias: "kitchen", tags: ["downstairs"] });
  await talking("hallway", 0, ["downstairs"]);
  await talking("bedroom", 1, ["upstairs", "quiet"]);
  await rest("POST", `/devices/${await board("workshop", ["garage"])}/revoke`);
  const agent = (await rest("POST", "/tokens", { name: "kitchen-agent", scopes: ["read", "call"] })).token;
  for (let at = 0; at < 120; at += 1) {
    await call(
      ["desk", "kitchen", "bedroom"][at % 3],
      "self.audio_speaker.set_volume",
      { volume: 20 + (at % 80) },
      at % 2 ? agent : token,
    );
    if (at % 12 === 5) await call("desk", "self.audio_speaker.set_volume", { volume: 300 }, agent);
    if (at % 20 === 7)
      await call("kitchen", "self.camera.take_photo", { question: "Is the stove off?" }, agent);
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
  await rest("POST", "/calls", { target: { all: true }, tool: "self.get_device_status" });
  await call("kitchen", "self.screen.set_theme", { theme: "dark" }, agent);
  await call("home", "set_light_state", { name: "salon", on: true });
  await call("home", "set_light_state", { name: "cocina", on: true });
  await call("home", "set_alarm_state", { armed: true });
  await call("home", "set_presence", { people: ["Ana", "Carlos"] });
  await call("home", "set_thermostat", { target: 21.5 });
}

/** Devices that are not boards, and the token of the voice agents. */
async function programs() {
  await rest("POST", "/tokens", { name: "voice", scopes: ["read", "call"] });
  const tools = await rest("POST", "/tokens", { name: "calculators", scopes: ["endpoint", "read", "call"] });
  await start(["simulate", "mcp-pipe", providerAddress(tools.token), "--json"]);
  const server = await start(["simulate", "http-server", "--kind", "espressif", "--port", "0", "--json"]);
  await rest("POST", "/devices/http", { alias: "greenhouse", url: server.url });
  await until(async () => {
    const { devices } = await rest("GET", "/devices?online=true");
    return ["calculator", "greenhouse"].every((id) =>
      devices.some((one) => one.id === id && one.toolsComplete),
    );
  });
}

const providerAddress = (secret) => `${url.replace("http", "ws")}/mcp_endpoint/mcp/?token=${secret}`;

/** The image that the tests make, too: it has all a gateway looks at, and runs nowhere. */
async function handIn(board, version, share) {
  // Vite reads TypeScript where Node does not yet; it is the console's.
  const { resolve } = createRequire(path.join(root, "packages", "console", "package.json"));
  const { runnerImport } = await import(pathToFileURL(resolve("vite")).href);
  const { makeImage } = (await runnerImport(path.join(root, "test", "firmware-image.ts"))).module;
  const answer = await fetch(`${url}/api/v1/firmware?board=${board}&share=${share}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/octet-stream" },
    body: makeImage({ board, version, codeBytes: 2_400_000 }),
  });
  return (await answer.json()).id;
}

/** Boards that fetch a new image at their next boot: most come back with it, one with what it had. */
async function updated() {
  const how = ["simulate", "esp32", "--url", url, "--json", "--ota", "--board", "esp-box-3"];
  const boards = async () =>
    (await rest("GET", "/devices?online=true&q=esp-box-3")).devices.filter((one) => one.toolsComplete);
  const before = (await boards()).length;
  await start([...how, "--count", "6", "--id", "02:00:00:de:50:01"]);
  await start([...how, "--id", "02:00:00:de:60:01", "--fault", "rolled-back-update"]);
  await until(async () => (await boards()).length === before + 7);
  await handIn("m5stack-core-s3", "2.5.1", 10);
  const id = await handIn("esp-box-3", "2.5.0", 100);
  await rest("POST", "/calls", { target: { all: true }, tool: "self.reboot" });
  await until(async () => {
    const { devices } = await rest("GET", `/firmware/${id}`);
    return devices.updated >= 6 && devices.failed >= 1;
  });
}

const wanted = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: ["/usr/bin/chromium", "/usr/bin/chromium-headless-shell"].find((file) =>
    fs.existsSync(file),
  ),
  args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"],
  env: { ...process.env, FONTCONFIG_FILE: fonts },
});

async function picture(
  name,
  at,
  { viewport = desk, theme = "light", locale = "en-US", act = async () => {} } = {},
) {
  if (wanted.length > 0 && !wanted.includes(name)) return;
  const context = await browser.newContext({
    viewport,
    colorScheme: theme,
    locale,
    deviceScaleFactor: 1.5,
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const { url: link } = await rest("POST", "/session/codes");
  await page.goto(link);
  await page.getByRole("navigation").first().waitFor();
  await page.goto(`${url}${at}`);
  // A dialog hides the page from screen readers.
  await page.locator("h1").first().waitFor();
  await act(page);
  await page.waitForTimeout(900);
  await page.screenshot({ path: path.join(images, `${name}.png`) });
  await context.close();
  console.log(`docs/images/${name}.png`);
}

try {
  fs.mkdirSync(images, { recursive: true });
  await live();
  await programs();
  await picture("fleet", "/");
  await picture("device", "/devices/desk", {
    viewport: { width: 1280, height: 1000 },
    act: async (page) => {
      await page.getByRole("button", { name: /set_volume/ }).click();
      const tool = page.getByRole("listitem").filter({ hasText: "self.audio_speaker.set_volume" });
      await tool.getByRole("button", { name: "Run", exact: true }).click();
      await page.getByRole("button", { name: "Take photo", exact: true }).click();
      await page.getByRole("img", { name: "Image from the device" }).waitFor();
    },
  });
  const { calls } = await rest("GET", "/calls?tool=self.camera.take_photo&limit=1");
  await picture("call", `/calls/${calls[0].callId}`, { viewport: { width: 1280, height: 720 } });
  await picture("approvals", "/approvals", { viewport: { width: 1280, height: 520 }, theme: "dark" });
  await picture("home", "/home", { theme: "dark" });
  await picture("voice", "/voice", { viewport: { width: 1280, height: 500 } });
  await picture("overview", "/overview", { viewport: { width: 1280, height: 960 } });
  await picture("connect", "/connect", {
    act: async (page) => {
      await page.getByRole("button", { name: "Create token" }).click();
      await page.getByText("Waiting for my-agent").waitFor();
    },
  });
  const day = 86_400_000;
  await rest("POST", "/tokens", { name: "hall-tablet", scopes: ["read"], devices: { tags: ["downstairs"] } });
  await rest("POST", "/tokens", {
    name: "ana",
    scopes: ["read", "call", "call:user"],
    expiresAt: new Date(Date.now() + 90 * day).toISOString(),
  });
  await picture("add-provider", "/?add=provider", {
    viewport: { width: 1280, height: 900 },
    act: async (page) => {
      await page.getByLabel("Name of the token").fill("weather");
      await page.getByRole("button", { name: "Create address" }).click();
      const address = page.getByRole("figure", { name: "Address of the MCP endpoint" });
      await start([
        "simulate",
        "mcp-pipe",
        (await address.textContent()).trim(),
        "--name",
        "Weather",
        "--json",
      ]);
      await page.getByText("Connected:").waitFor();
    },
  });
  await picture("voice-agents", "/voice-agents", { viewport: { width: 1280, height: 720 } });
  await picture("tokens", "/tokens", { viewport: { width: 1280, height: 660 } });
  await picture("audit", "/audit", { viewport: { width: 1280, height: 720 }, theme: "dark" });
  await picture("phone", "/devices/kitchen", { viewport: phone, theme: "dark" });
  await picture("phone-zh", "/home", { viewport: phone, locale: "zh-CN" });
  await updated();
  await picture("firmware", "/firmware", { viewport: { width: 1280, height: 560 } });
} finally {
  await browser.close();
  for (const child of running.reverse()) {
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("exit", resolve));
  }
  fs.rmSync(folder, { recursive: true, force: true });
}
