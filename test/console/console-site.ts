/** A gateway for console tests, with two virtual boards (one with a battery) and the simulated home. */
import path from "node:path";
import { fileURLToPath } from "node:url";
import { VirtualDevice, type VirtualDeviceOptions } from "@tendon/simulator";
import { onTestFinished } from "vitest";
import { unusedName } from "../access/tokens.ts";
import { until } from "../inbox.ts";
import { type AtEnd, openSite, type Site, type SiteOptions, startSite } from "../site.ts";

export const desk = "02:00:00:00:00:01";
export const kitchen = "02:00:00:00:00:02";

const tendon = fileURLToPath(new URL("../../packages/cli/bin/tendon.js", import.meta.url));

export async function openConsoleSite(options: SiteOptions = {}): Promise<Site> {
  return await openSite(forConsole(options));
}

/** A gateway for several tests; its starter must stop it. */
export async function startConsoleSite(options: SiteOptions = {}): Promise<Site> {
  return await startSite(forConsole(options));
}

function forConsole(options: SiteOptions): SiteOptions {
  return {
    ...options,
    config: { ...options.config, devices: { admission: "approve", ...options.config?.devices } },
  };
}

export function clientIdOf(mac: string): string {
  return `00000000-0000-4000-8000-${mac.replaceAll(":", "")}`;
}

export interface BoardOptions extends VirtualDeviceOptions {
  /** By default WebSocket, and MQTT for the kitchen. */
  readonly over?: "websocket" | "mqtt";
}

/** Starts a virtual board and waits until it is connected and listed. By default it stops with the test. */
export async function startBoard(
  site: Site,
  mac: string,
  alias: string,
  { over = alias === "kitchen" ? "mqtt" : "websocket", ...options }: BoardOptions = {},
  atEnd: AtEnd = onTestFinished,
): Promise<VirtualDevice> {
  const clientId = clientIdOf(mac);
  const { websocket, mqtt } = site.tendon.provision(mac, clientId);
  const way = over === "mqtt" ? { mqtt } : { url: websocket.url, token: websocket.token };
  const device = new VirtualDevice({
    ...way,
    timing: { rebootDelayMs: 1, bootMs: 1 },
    ...options,
    board: { mac, clientId, name: "esp-box-3", ...options.board },
  });
  atEnd(() => device.stop());
  await device.connect();
  await site.listed(mac);
  await site.rest("PATCH", `/devices/${mac}`, { alias });
  return device;
}

/** A link that signs in with a new token. */
export async function linkFor(site: Site, name: string, scopes: readonly string[]): Promise<string> {
  const { body } = await site.rest("POST", "/tokens", { name: unusedName(site, name), scopes });
  const headers = { authorization: `Bearer ${String(body["token"])}` };
  return String((await site.rest("POST", "/session/codes", undefined, headers)).body["url"]);
}

/** The simulated home as a stdio device, with its state in the site's folder. */
export function homeProgram(folder: string) {
  const data = path.join(folder, "home");
  return {
    alias: "home",
    command: process.execPath,
    args: [tendon, "home", "--mcp", "--events", "--data", data],
  };
}

export async function untilOnline(site: Site, device: string, online: boolean): Promise<void> {
  await until(
    async () => (await site.device(device))["online"] === online,
    `${device} ${online ? "online" : "offline"}`,
  );
}
