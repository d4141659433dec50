/** A real Mosquitto as Home Assistant's broker, a gateway, and a client that behaves like Home Assistant. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { ConfigInput } from "@tendon/gateway";
import { VirtualDevice } from "@tendon/simulator";
import { connectAsync, type IClientPublishOptions, type MqttClient } from "mqtt";
import { expect, onTestFinished } from "vitest";
import { until } from "../inbox.ts";
import { Mosquitto } from "../mosquitto.ts";
import { type RawDevice, textContent } from "../raw-device.ts";
import { openSite, type Site, type SiteOptions } from "../site.ts";
import { discoveryProblems } from "./discovery-validator.ts";

interface Component {
  readonly [key: string]: unknown;
}

export interface Discovered {
  readonly device: Readonly<Record<string, unknown>>;
  readonly components: Readonly<Record<string, Component>>;
  readonly [key: string]: unknown;
}

const password = "the-gateways-password";
export const tokenName = "home-assistant";
export type HomeAssistantInput = Partial<NonNullable<ConfigInput["homeAssistant"]>>;

export async function openBroker(...settings: string[]): Promise<Mosquitto> {
  const users = { tendon: password, ha: "ha-password" };
  return await Mosquitto.start(users, "guides/home-assistant.md", settings);
}

export async function openGateway(
  broker: Mosquitto,
  settings: HomeAssistantInput = {},
  options: SiteOptions = {},
): Promise<Site> {
  const homeAssistant = { broker: broker.url("tendon", password), token: tokenName, ...settings };
  return await openSite({ ...options, config: { ...options.config, homeAssistant } });
}

export async function makeToken(
  site: Site,
  scopes = ["read", "call", "call:user"],
  more: object = {},
): Promise<string> {
  const { body, status } = await site.rest("POST", "/tokens", { name: tokenName, scopes, ...more });
  expect(status).toBe(201);
  return String(body["id"]);
}

/** A data folder for gateways that run one after the other. */
export function dataFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-home-assistant-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A virtual board that is connected over WebSocket. */
export async function openBoard(site: Site, options: object = {}): Promise<VirtualDevice> {
  const device = new VirtualDevice({
    url: site.tendon.addresses.deviceWebSocket,
    autoReconnect: false,
    timing: { rebootDelayMs: 1, bootMs: 1 },
    ...options,
  });
  onTestFinished(() => device.stop());
  await device.connect();
  return device;
}

/** Answers each call by its tool; `true` where nothing else is given. Returns the calls. */
export function answer(
  device: RawDevice,
  answers: Readonly<Record<string, string | object>> = {},
): { readonly name: string; readonly arguments: unknown }[] {
  const calls: { readonly name: string; readonly arguments: unknown }[] = [];
  void (async () => {
    for (;;) {
      const { id, message } = await device.nextRequest("tools/call");
      const { name, arguments: args } = message["params"] as { name: string; arguments: unknown };
      calls.push({ name, arguments: args });
      const reply = answers[name] ?? "true";
      device.reply(id, typeof reply === "string" ? textContent(reply) : reply);
    }
  })().catch(() => undefined);
  return calls;
}

/** A tool with one argument. */
export function one(name: string, schema: object) {
  return {
    name,
    description: "",
    inputSchema: { type: "object", properties: { value: schema }, required: ["value"] },
  };
}

/** A tool without arguments. */
export function none(name: string) {
  return { name, description: "", inputSchema: { type: "object", properties: {} } };
}

/** What `GET /home-assistant` shows, once it has this state. */
export async function state(site: Site, expected: string): Promise<Record<string, unknown>> {
  return await until(async () => {
    const { body } = await site.rest("GET", "/home-assistant");
    return body["state"] === expected ? body : undefined;
  }, `the state ${expected}`);
}

export class Assistant {
  readonly client: MqttClient;
  /** The retained message of each topic, as a new subscriber would get it. */
  readonly retained = new Map<string, string>();
  readonly seen: { readonly topic: string; readonly payload: Buffer }[] = [];

  private constructor(client: MqttClient) {
    this.client = client;
    client.on("error", () => undefined);
    client.on("message", (topic, payload) => {
      this.seen.push({ topic, payload });
      if (payload.length === 0) this.retained.delete(topic);
      else this.retained.set(topic, payload.toString());
    });
  }

  static async connect(broker: Mosquitto): Promise<Assistant> {
    const client = await connectAsync(broker.url("ha", "ha-password"), {
      protocolVersion: 5,
      reconnectPeriod: 0,
    });
    onTestFinished(() => {
      client.end(true);
    });
    const assistant = new Assistant(client);
    await client.subscribeAsync(["homeassistant/#", "tendon/ha/#"]);
    return assistant;
  }

  async state(topic: string, expected?: string): Promise<string> {
    return await until(
      () => {
        const text = this.retained.get(topic);
        return expected === undefined || text === expected ? text : undefined;
      },
      `${expected ?? "a message"} on ${topic}`,
    );
  }

  /** The discovery of a device, once it satisfies the condition. Every payload must be valid. */
  async discovered(
    slug: string,
    condition: (found: Discovered) => boolean = () => true,
  ): Promise<Discovered> {
    const topic = `homeassistant/device/tendon_${slug}/config`;
    return await until(() => {
      const text = this.retained.get(topic);
      if (text === undefined) return undefined;
      const found = JSON.parse(text) as Discovered;
      expect(discoveryProblems(topic, found)).toEqual([]);
      return condition(found) ? found : undefined;
    }, `the discovery of ${slug}`);
  }

  async gone(topic: string): Promise<void> {
    await until(() => !this.retained.has(topic), `${topic} to be removed`);
  }

  async command(topic: string, payload: string, options: IClientPublishOptions = { qos: 1 }): Promise<void> {
    await this.client.publishAsync(topic, payload, options);
  }

  /** Events of an event entity, in order. */
  events(topic: string): Record<string, unknown>[] {
    return this.seen
      .filter((message) => message.topic === topic)
      .map(({ payload }) => JSON.parse(payload.toString()) as Record<string, unknown>);
  }
}

/** Every retained message on the broker, as a new client gets them. */
export async function retainedOn(broker: Mosquitto): Promise<Map<string, string>> {
  const options = { protocolVersion: 5, reconnectPeriod: 0 } as const;
  const client = await connectAsync(broker.url("ha", "ha-password"), options);
  const retained = new Map<string, string>();
  const end = `end-${Math.random()}`;
  let isEnded = false;
  client.on("message", (topic, payload, { retain }) => {
    if (topic === end) isEnded = true;
    else if (retain) retained.set(topic, payload.toString());
  });
  // The broker sends retained messages before one that is published after the subscription.
  await client.subscribeAsync("#");
  await client.publishAsync(end, "end");
  await until(() => isEnded, "the retained messages");
  await client.endAsync();
  return retained;
}
