import net from "node:net";
import mqttPacket, { type IConnectPacket, type IPublishPacket, type Packet } from "mqtt-packet";
import { askAll } from "./http-client.ts";
import { Inbox } from "./inbox.ts";
import { secretWatch } from "./secret-watch.ts";
import type { DeviceClaim, DeviceTransport, DeviceWire } from "./transport.ts";

/** The MQTT settings of a device from the OTA reply. */
export interface MqttSettings {
  readonly endpoint: string;
  readonly client_id: string;
  readonly username: string;
  readonly password: string;
  readonly publish_topic: string;
  readonly keepalive: number;
}

/** The version that clients of this run speak: `npm test` runs test/mqtt with both. */
export const mqttVersion = process.env["TENDON_TEST_MQTT_VERSION"] === "5" ? 5 : 4;

/** The return codes of MQTT 3.1.1 for the reason codes of a CONNACK of MQTT 5. */
const returnCodes: Readonly<Record<number, number>> = { 132: 1, 133: 2, 136: 3, 134: 4, 135: 5 };
/** A rejected filter in a SUBACK of MQTT 3.1.1, and reason codes of MQTT 5 from here on. */
const REJECTED = 128;

/** The broker rejected the connection with this CONNACK return code. */
export class MqttRefused extends Error {
  override readonly name = "MqttRefused";
  readonly returnCode: number;

  constructor(returnCode: number) {
    super(`refused with CONNACK ${returnCode}`);
    this.returnCode = returnCode;
  }
}

/** A plain MQTT client that subscribes only on request. Codes of MQTT 5 are given as those of 3.1.1. */
export class MqttWire implements DeviceWire {
  readonly socket: net.Socket;
  readonly ended: Promise<{ code: number; reason: string }>;
  /** Every received packet by name, for tests below the level of messages. */
  readonly packets = new Inbox<Packet>("packet");
  /** Every received message with its topic and flags. */
  readonly messages: IPublishPacket[] = [];
  readonly #texts = new Inbox<string>("message");
  readonly #settings: MqttSettings;
  readonly #version: number;

  private constructor(socket: net.Socket, settings: MqttSettings, protocolVersion: number) {
    this.socket = socket;
    this.#settings = settings;
    this.#version = protocolVersion;
    const parser = mqttPacket.parser({ protocolVersion });
    socket.on("data", (chunk) => parser.parse(chunk));
    socket.on("error", () => undefined);
    parser.on("packet", (packet) => {
      if (packet.cmd !== "publish") {
        this.packets.put(packet);
        return;
      }
      this.messages.push(packet);
      const text = packet.payload.toString();
      secretWatch.learn(text, "a device's message");
      this.#texts.put(text);
    });
    this.ended = new Promise((resolve) => {
      socket.once("close", () => resolve({ code: 0, reason: "" }));
    });
  }

  static async open(
    settings: MqttSettings,
    more: Partial<IConnectPacket> = {},
    socket: net.Socket = dial(settings.endpoint),
  ): Promise<MqttWire> {
    const wire = new MqttWire(socket, settings, more.protocolVersion ?? mqttVersion);
    const { client_id: clientId, username, password, keepalive } = settings;
    secretWatch.keep(password, "an MQTT password");
    secretWatch.keep(clientId.split("@@@")[2], "a Client-Id");
    wire.send({
      cmd: "connect",
      protocolId: "MQTT",
      protocolVersion: mqttVersion,
      clean: true,
      clientId,
      ...(username === "" ? {} : { username }),
      ...(password === "" ? {} : { password: Buffer.from(password) }),
      keepalive,
      ...more,
    });
    const packet = await Promise.race([wire.packets.take(), wire.ended]);
    if (!("cmd" in packet) || packet.cmd !== "connack") throw new MqttRefused(-1);
    const { returnCode = -1, reasonCode } = packet;
    const code = reasonCode === undefined ? returnCode : (returnCodes[reasonCode] ?? reasonCode);
    if (code === 0) return wire;
    throw new MqttRefused(code);
  }

  get untaken(): readonly string[] {
    return this.#texts.waiting;
  }

  send(packet: Packet): void {
    this.socket.write(mqttPacket.generate(packet, { protocolVersion: this.#version }));
  }

  publish(topic: string, payload: string | Buffer, more: Partial<IPublishPacket> = {}): void {
    this.send({ cmd: "publish", topic, payload, qos: 0, dup: false, retain: false, ...more });
  }

  /** The SUBACK's code: the granted QoS, or 128. */
  async subscribe(topic: string, qos: 0 | 1 | 2 = 0): Promise<number> {
    this.send({ cmd: "subscribe", messageId: 7, subscriptions: [{ topic, qos }] });
    const packet = await this.nextPacket("suback");
    const [granted] = packet.granted;
    return typeof granted === "number" ? Math.min(granted, REJECTED) : -1;
  }

  /** A protocol round trip: everything sent before has been read. */
  async ping(): Promise<void> {
    this.send({ cmd: "pingreq" });
    await this.nextPacket("pingresp");
  }

  /** The next packet of this kind; earlier ones are skipped. */
  async nextPacket<Kind extends Packet["cmd"]>(kind: Kind): Promise<Extract<Packet, { cmd: Kind }>> {
    for (;;) {
      const packet = await this.packets.take();
      if (packet.cmd === kind) return packet as Extract<Packet, { cmd: Kind }>;
    }
  }

  sendText(text: string): void {
    this.publish(this.#settings.publish_topic, text);
  }

  sendBinary(bytes: Uint8Array): void {
    this.publish(this.#settings.publish_topic, Buffer.from(bytes));
  }

  async nextText(): Promise<string> {
    return await this.#texts.take();
  }

  cut(): void {
    this.socket.destroy();
  }

  close(): void {
    this.send({ cmd: "disconnect" });
    this.socket.end();
  }
}

export function dial(endpoint: string): net.Socket {
  const [host = "", port = ""] = endpoint.split(":");
  return net.connect(Number(port), host);
}

/** Requests the settings from the OTA address, as a board does. */
export async function askForSettings(gatewayUrl: string, claim: DeviceClaim): Promise<MqttSettings> {
  const { body } = await askAll(gatewayUrl, {
    method: "POST",
    path: "/xiaozhi/ota/",
    headers: {
      "device-id": claim.deviceId,
      "client-id": claim.clientId,
      "content-type": "application/json",
    },
    body: "{}",
  });
  return body["mqtt"] as unknown as MqttSettings;
}

export const mqttTransport: DeviceTransport = {
  name: "MQTT",
  helloTransport: "udp",
  restName: "mqtt",
  beginsWithHello: false,
  sentAwayCode: 0,
  connect: async (gatewayUrl, claim) => await MqttWire.open(await askForSettings(gatewayUrl, claim)),
};
