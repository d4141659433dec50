import { DeviceOptionError } from "../errors.ts";
import { type ByteText, fromBuffer, toBuffer } from "./byte-text.ts";
import { parseCjson, stringMember } from "./cjson-parse.ts";
import { MqttAudio } from "./mqtt-audio.ts";
import { MqttLink } from "./mqtt-link.ts";
import { type MqttAddress, type MqttOptions, parseEndpoint } from "./mqtt-settings.ts";
import type { OpenOutcome, SendOutcome, Transport, TransportFactory, TransportHost } from "./transport.ts";

/** Cellular modems send a publish as one command, which cannot be longer. */
const modemLimit = 65_536;

/** MQTT transport: connected from boot on, with UDP audio sessions only during conversations. */
export function mqttTransport(options: MqttOptions): TransportFactory {
  const address = parseEndpoint(options.endpoint);
  if (address === undefined || address.host === "" || address.port < 1 || address.port > 65_535) {
    throw new DeviceOptionError(`"${options.endpoint}" is not a host or host:port of an MQTT broker`);
  }
  return (host) => new MqttTransport(options, address, host);
}

class MqttTransport implements Transport {
  /** The delay of the device's MQTT library after any failure. */
  readonly retry = { minimumMs: 10_000, maximumMs: 10_000, jitter: 0.1 };
  readonly audio: MqttAudio;
  readonly #options: MqttOptions;
  readonly #address: MqttAddress;
  readonly #host: TransportHost;
  #link: MqttLink | undefined;
  /** Settles the current attempt, if there is one. */
  #settle: ((outcome: OpenOutcome) => void) | undefined;

  constructor(options: MqttOptions, address: MqttAddress, host: TransportHost) {
    this.#options = options;
    this.#address = address;
    this.#host = host;
    this.audio = new MqttAudio(host, (text) => this.sendText(text));
  }

  get sessionId(): ByteText {
    return this.audio.sessionId;
  }

  get isOpen(): boolean {
    return this.#link?.up === true;
  }

  async open(): Promise<OpenOutcome> {
    this.#giveUp();
    this.#link?.drop();
    return await new Promise((resolve) => {
      this.#settle = resolve;
      this.#link = new MqttLink(this.#options, this.#address, {
        pings: this.#host.pong,
        settled: (outcome) => this.#settled(outcome),
        message: (payload) => this.#receive(payload),
        lost: () => {
          this.#link = undefined;
          this.#host.closed("network", undefined);
        },
        flooded: () => {
          this.#link = undefined;
          this.#giveUp();
          this.#host.crashed("a message larger than the memory");
        },
      });
    });
  }

  close(): void {
    this.#link?.end();
    this.#leave();
  }

  drop(): void {
    this.#link?.drop();
    this.#leave();
  }

  forget(): void {
    this.audio.forget();
  }

  sendText(text: ByteText): SendOutcome {
    const { publish_topic: topic } = this.#options;
    if (topic === "") return "closed";
    if (this.#host.board.network.type === "cellular" && text.length > modemLimit) {
      this.audio.publishFailed();
      return "too-large";
    }
    if (this.#link?.publish(topic, toBuffer(text)) !== true) {
      this.audio.publishFailed();
      return "closed";
    }
    this.#host.frame("out", text);
    return "sent";
  }

  sendAudio(packet: Uint8Array, timestamp: number): SendOutcome {
    return this.audio.send(packet, timestamp);
  }

  #leave(): void {
    this.#link = undefined;
    this.audio.drop();
    this.#giveUp();
  }

  #giveUp(): void {
    this.#settled({ ok: false, code: "closed_early", detail: "the device disconnected" });
  }

  #settled(outcome: OpenOutcome): void {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(outcome);
  }

  #receive(payload: Buffer): void {
    const text = fromBuffer(payload);
    this.#host.frame("in", text);
    const message = parseCjson(text);
    const type = stringMember(message, "type");
    if (message === undefined || type === undefined) {
      this.#host.ignored(message === undefined ? "Failed to parse json message" : "Message type is invalid");
      return;
    }
    this.audio.heard();
    if (type === "hello") this.audio.serverHello(message);
    else if (type !== "goodbye") this.#host.message(type, message);
    else if (this.audio.isCurrent(stringMember(message, "session_id"))) this.#host.goodbye();
    else this.#host.ignored("a goodbye for another session");
  }
}
