/**
 * A real gateway on a free loopback port with its own data folder, and helpers to use it from both sides. It stops when
 * its test ends.
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { type ConfigInput, type StartOptions, startTendon, type Tendon } from "@tendon/gateway";
import { onTestFinished } from "vitest";
import { placeMigratedFile } from "../packages/gateway/test/store/migrated-file.ts";
import { EventReader } from "./event-reader.ts";
import { type Answer, ask, askAll, type Json } from "./http-client.ts";
import { until } from "./inbox.ts";
import { type Fields, firmwareHello, type Offer, RawDevice } from "./raw-device.ts";
import { secretWatch } from "./secret-watch.ts";
import { stallWatch } from "./stall-watch.ts";
import type { CallInterface, DeviceClaim, DeviceTransport } from "./transport.ts";
import { webSocketTransport } from "./websocket-wire.ts";

export const adminToken = "an-admin-token-for-tests";
export const firstDevice = "02:00:00:00:00:01";
const clientId = "8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a01";

export interface SiteOptions extends Omit<StartOptions, "adminToken"> {
  readonly config?: ConfigInput;
  /** The transport of its devices, if the gateway needs to know it. */
  readonly transport?: DeviceTransport | undefined;
}

export interface JoinOptions extends Offer, Partial<DeviceClaim> {
  readonly transport?: DeviceTransport;
  readonly hello?: Fields;
}

/** Registers what to stop at the end of a test, or of a group of tests. */
export type AtEnd = (stop: () => Promise<void>) => void;

export async function openSite(options: SiteOptions = {}): Promise<Site> {
  const { transport, ...rest } = options;
  if (transport?.openSite !== undefined) return await transport.openSite(rest);
  const site = await startSite(rest);
  onTestFinished(() => site.stop());
  return site;
}

/** A gateway for several tests; its starter must stop it. */
export async function startSite(options: SiteOptions = {}): Promise<Site> {
  const { config = {}, ...startOptions } = options;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-test-"));
  if (config.data === undefined) await placeMigratedFile(folder);
  const tendon = await startTendon(
    {
      data: folder,
      log: { level: "silent" },
      ...config,
      http: { port: 0, ...config.http },
      mqtt: { port: 0, ...config.mqtt },
      voice: { udpPort: 0, ...config.voice },
      devices: { admission: "open", ...config.devices },
    },
    { logger: secretWatch.logger(), ...startOptions, adminToken },
  );
  return new Site(stallWatch.watch(tendon), folder);
}

export class Site {
  readonly tendon: Tendon;
  readonly folder: string;
  readonly #devices: RawDevice[] = [];
  readonly #readers: EventReader[] = [];
  #callInterface: CallInterface | undefined;

  constructor(tendon: Tendon, folder: string) {
    this.tendon = tendon;
    this.folder = folder;
  }

  /** The address for callers. */
  get url(): string {
    return this.tendon.url;
  }

  /** The address for devices. */
  protected get deviceUrl(): string {
    return this.tendon.url;
  }

  /** Requests a path under /api/v1, with the admin token unless the headers have another. */
  async rest(
    method: string,
    restPath: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
    signal?: AbortSignal,
  ): Promise<Answer> {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    return await askAll(this.url, {
      method,
      path: `/api/v1${restPath}`,
      headers: {
        authorization: `Bearer ${adminToken}`,
        ...(text === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: text,
      signal,
    });
  }

  async call(device: string, tool: string, args: Fields = {}, more: Fields = {}): Promise<Answer> {
    if (this.#callInterface !== undefined) return await this.#callInterface(this, device, tool, args, more);
    const at = `/devices/${device}/tools/${encodeURIComponent(tool)}/call`;
    return await this.rest("POST", at, { arguments: args, ...more });
  }

  async device(reference: string): Promise<{ [key: string]: Json }> {
    return (await this.rest("GET", `/devices/${reference}`)).body;
  }

  async toolNames(reference: string): Promise<string[]> {
    const { body } = await this.rest("GET", `/devices/${reference}/tools?user=true`);
    return (body["tools"] as { name: string }[]).map(({ name }) => name);
  }

  async events(query = "", headers: Readonly<Record<string, string>> = {}): Promise<EventReader> {
    const response = await ask(this.url, {
      path: `/api/v1/events${query}`,
      headers: { authorization: `Bearer ${adminToken}`, ...headers },
    });
    const reader = new EventReader(response);
    this.#readers.push(reader);
    return reader;
  }

  async metric(name: string): Promise<number> {
    const { text } = await askAll(this.url, { path: "/metrics" });
    const line = text.split("\n").find((candidate) => candidate.startsWith(`${name} `));
    return line === undefined ? 0 : Number(line.slice(name.length + 1));
  }

  /** A connection that has not sent anything yet. */
  async connect(options: JoinOptions = {}): Promise<RawDevice> {
    const transport = options.transport ?? webSocketTransport;
    this.#callInterface = transport.callInterface;
    const deviceId = options.deviceId ?? firstDevice;
    const { token, pongs } = options;
    const claim = { deviceId, clientId: options.clientId ?? clientId, token, pongs };
    const wire = await transport.connect(this.deviceUrl, claim);
    const device = new RawDevice(wire, deviceId, transport.beginsWithHello, () => this.arrived(deviceId));
    this.#devices.push(device);
    return device;
  }

  /** A device that has sent hello, was initialized and listed, and is now silent. */
  async join(options: JoinOptions = {}): Promise<RawDevice> {
    const device = await this.connect(options);
    await device.greet(options.hello ?? firmwareHello);
    await device.setUp(options);
    await this.listed(device.id);
    return device;
  }

  async listed(reference: string): Promise<void> {
    await until(async () => (await this.device(reference))["toolsComplete"] === true, "a complete list");
  }

  /** Resolves when callers can see a device that has just sent hello. */
  protected async arrived(_device: string): Promise<void> {}

  protected hangUp(): void {
    for (const reader of this.#readers) reader.close();
    for (const device of this.#devices) device.cut();
  }

  async stop(): Promise<void> {
    this.hangUp();
    await this.tendon.stop();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}
