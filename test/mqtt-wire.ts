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

/** The broker rejected the connection with this CONNACK return code. */
export class MqttRefused extends Error {
  override readonly name = "MqttRefused";
  readonly returnCode: number;

  constructor(returnCode: number) {
    super(`refused with CONNACK ${returnCode}`);
    this.returnCode = returnCode;
  }
}

/** A plain MQTT 3.1.1 client that subscribes only on request. */
export class MqttWire implements DeviceWire {
  readonly socket: net.Socket;
  readonly ended: Promise<{ code: number; reason: string }>;
  /** Every received packet by name, for tests below the level of messages. */
  readonly packets = new Inbox<Packet>("packet");
  /** Every received message with its topic and flags. */
  readonly messages: IPublishPacket[] = [];
  readonly #texts = new Inbox<string>("message");
  readonly #settings: MqttSettings;

  private constructor(socket: net.Socket, settings: MqttSettings) {
    this.socket = socket;
    this.#settings = settings;
    const parser = mqttPacket.parser({ protocolVersion: 4 });
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
    const wire = new MqttWire(socket, settings);
    const { client_id: clientId, username, password, keepalive } = settings;
    secretWatch.keep(password, "an MQTT password");
    secretWatch.keep(clientId.split("@@@")[2], "a Client-Id");
    wire.send({
      cmd: "connect",
      protocolId: "MQTT",
      protocolVersion: 4,
      clean: true,
      clientId,
      ...(username === "" ? {} : { username }),
      ...(password === "" ? {} : { password: Buffer.from(password) }),
      keepalive,
      ...more,
    });
    const packet = await Promise.race([wire.packets.take(), wire.ended]);
    if ("cmd" in packet && packet.cmd === "connack" && packet.returnCode === 0) return wire;
    throw new MqttRefused("cmd" in packet && packet.cmd === "connack" ? (packet.returnCode ?? -1) : -1);
  }

  get untaken(): readonly string[] {
    return this.#texts.waiting;
  }

  send(packet: Packet): void {
    this.socket.write(mqttPacket.generate(packet));
  }

  publish(topic: string, payload: string | Buffer, more: Partial<IPublishPacket> = {}): void {
    this.send({ cmd: "publish", topic, payload, qos: 0, dup: false, retain: false, ...more });
  }

  /** The SUBACK's code: the granted QoS, or 128. */
  async subscribe(topic: string, qos: 0 | 1 | 2 = 0): Promise<number> {
    this.send({ cmd: "subscribe", messageId: 7, subscriptions: [{ topic, qos }] });
    const packet = await this.nextPacket("suback");
    const [granted] = packet.granted;
    return typeof granted === "number" ? granted : -1;
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
