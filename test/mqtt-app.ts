import type { IConnectPacket } from "mqtt-packet";
import { onTestFinished } from "vitest";
import { asObject, type Json } from "./http-client.ts";
import { until } from "./inbox.ts";
import { MqttWire } from "./mqtt-wire.ts";
import { adminToken, type Site } from "./site.ts";

export interface AppOptions {
  readonly token?: string;
  readonly clientId?: string;
  readonly username?: string;
  readonly connect?: Partial<IConnectPacket>;
}

export function brokerEndpoint(site: Site): string {
  return new URL(site.tendon.addresses.mqtt).host;
}

/** An app that uses devices over MQTT, with an ordinary client. */
export class MqttApp {
  readonly wire: MqttWire;
  #taken = new Map<string, number>();

  constructor(wire: MqttWire) {
    this.wire = wire;
  }

  static async open(site: Site, options: AppOptions = {}): Promise<MqttApp> {
    const settings = {
      endpoint: brokerEndpoint(site),
      client_id: options.clientId ?? "",
      username: options.username ?? "app",
      password: options.token ?? adminToken,
      publish_topic: "",
      keepalive: 60,
    };
    const app = new MqttApp(await MqttWire.open(settings, options.connect));
    onTestFinished(() => app.wire.cut());
    return app;
  }

  publish(topic: string, message: unknown): void {
    this.wire.publish(topic, typeof message === "string" ? message : JSON.stringify(message));
  }

  /** The messages on a topic so far. */
  on(topic: string): { [key: string]: Json }[] {
    return this.wire.messages
      .filter((message) => message.topic === topic)
      .map(({ payload }) => asObject(payload.toString()));
  }

  /** The next message on a topic that was not taken yet. */
  async next(topic: string): Promise<{ [key: string]: Json }> {
    const index = this.#taken.get(topic) ?? 0;
    this.#taken.set(topic, index + 1);
    return await until(() => this.on(topic)[index], `a message on ${topic}`);
  }

  /** Publishes a request and takes the reply; the reply's topic must have been subscribed to. */
  async ask(topic: string, message: unknown): Promise<{ [key: string]: Json }> {
    this.publish(topic, message);
    return await this.next(`${topic}/reply`);
  }
}
