/**
 * A board for the OTA address, written from the firmware's side of the wire: it requests its settings, shows its code,
 * polls for approval, and proves its serial number if it has one.
 */
import { createHmac } from "node:crypto";
import { type Answer, askAll } from "./http-client.ts";
import type { MqttSettings } from "./mqtt-wire.ts";

export interface BoardOptions {
  readonly deviceId?: string;
  readonly clientId?: string;
  readonly serial?: { readonly number: string; readonly key: string };
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Activation {
  readonly code: string;
  readonly message: string;
  readonly challenge: string;
  readonly timeout_ms: number;
}

export class OtaBoard {
  readonly deviceId: string;
  readonly clientId: string;
  readonly #url: string;
  readonly #serial: BoardOptions["serial"];
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, options: BoardOptions = {}) {
    this.#url = url;
    this.deviceId = options.deviceId ?? "02:00:00:00:00:01";
    this.clientId = options.clientId ?? "7f0c9d3a-5b1e-4a77-9a44-000000000001";
    this.#serial = options.serial;
    this.#headers = options.headers ?? {};
  }

  async ask(path = "/xiaozhi/ota/"): Promise<Answer> {
    const body = { version: 2, application: { version: "2.4.2" }, board: { name: "bread-compact-wifi" } };
    return await this.#post(path, JSON.stringify(body));
  }

  /** The code and challenge, if it has to wait. */
  async shown(): Promise<Activation> {
    const { body } = await this.ask();
    return body["activation"] as unknown as Activation;
  }

  async mqtt(): Promise<MqttSettings | undefined> {
    return (await this.ask()).body["mqtt"] as unknown as MqttSettings | undefined;
  }

  async webSocket(): Promise<{ readonly url: string; readonly token: string } | undefined> {
    return (await this.ask()).body["websocket"] as unknown as { url: string; token: string } | undefined;
  }

  /** 200 when it is approved, 202 while it waits. */
  async activate(challenge = "", more: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    const serial = this.#serial;
    const proof =
      serial === undefined
        ? {}
        : {
            algorithm: "hmac-sha256",
            serial_number: serial.number,
            challenge,
            hmac: createHmac("sha256", Buffer.from(serial.key, "hex")).update(challenge).digest("hex"),
          };
    return await this.#post("/xiaozhi/ota/activate", JSON.stringify({ ...proof, ...more }));
  }

  async #post(path: string, body: string): Promise<Answer> {
    const headers = {
      "device-id": this.deviceId,
      "client-id": this.clientId,
      "activation-version": this.#serial === undefined ? "1" : "2",
      ...(this.#serial === undefined ? {} : { "serial-number": this.#serial.number }),
      "user-agent": "bread-compact-wifi/2.4.2",
      "accept-language": "zh-CN",
      "content-type": "application/json",
      ...this.#headers,
    };
    return await askAll(this.#url, { method: "POST", path, headers, body });
  }
}
