import { createHmac } from "node:crypto";
import { type Clock, systemClock } from "../clock.ts";
import type { Board } from "./board.ts";
import { type ByteText, toBuffer, toText } from "./byte-text.ts";
import { printJson } from "./cjson-print.ts";
import { DeviceState } from "./device-state.ts";
import { Flash } from "./flash.ts";
import type { DeviceHttp } from "./http.ts";
import type { MqttSettings } from "./mqtt-settings.ts";
import { nodeHttp } from "./node-http.ts";
import { type Activation, type FirmwareOffer, type OtaReply, readReply } from "./ota-reply.ts";
import { systemInfo } from "./reports.ts";
import type { WebSocketOptions } from "./websocket-transport.ts";
import { wholeReplyLimit } from "./whole-reply.ts";

export interface ProvisionOptions {
  readonly otaUrl: string;
  readonly board: Board;
  /** The state for the report about the device; a new device's by default. */
  readonly state?: DeviceState;
  /** The stored settings of earlier replies, where the new ones are stored too. */
  readonly flash?: Flash;
  readonly http?: DeviceHttp;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  /** How often a check may fail in a row, 10 by default; the pause between doubles from 10 s on. */
  readonly attempts?: number;
  /** Called each time the device shows its code. */
  readonly shown?: (code: string, message: string | undefined) => void;
  readonly checkFailed?: (attempt: number, detail: string) => void;
  /** Installs newer firmware and returns whether that worked; without it, offers are ignored. */
  readonly install?: (offer: FirmwareOffer) => Promise<boolean>;
}

/** The settings for connecting. */
export type ProvisionedTransport =
  | { readonly kind: "mqtt"; readonly settings: MqttSettings }
  | { readonly kind: "websocket"; readonly settings: WebSocketOptions };

export type ProvisionOutcome =
  | {
      readonly kind: "ready";
      readonly transport: ProvisionedTransport;
      readonly serverTime: number | undefined;
      /** Offered and newer than what runs, but not installed. */
      readonly firmware: FirmwareOffer | undefined;
    }
  /** New firmware is in place, and the device has to restart. */
  | { readonly kind: "installed"; readonly version: string }
  /** The reply crashes the device, again after every restart. */
  | { readonly kind: "fatal"; readonly cause: string }
  | {
      readonly kind: "failed";
      readonly code: "ota_failed" | "ota_hung" | "stopped";
      readonly detail: string;
    };

type Check = OtaReply | { readonly kind: "hung"; readonly detail: string };

const shortestUrl = 10;
const firstRetryMs = 10_000;
const activationTries = 10;
const pendingMs = 3_000;
const refusedMs = 10_000;

/**
 * The boot of a device that knows only its OTA address: it requests its settings, shows its code until it is approved,
 * requests again, and returns the settings of a transport. It does not reject.
 */
export async function provision(options: ProvisionOptions): Promise<ProvisionOutcome> {
  return await new Provision(options).run();
}

class Provision {
  readonly #options: ProvisionOptions;
  readonly #flash: Flash;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #report: () => ByteText;

  constructor(options: ProvisionOptions) {
    this.#options = options;
    this.#flash = options.flash ?? new Flash();
    this.#clock = options.clock ?? systemClock;
    this.#signal = options.signal ?? new AbortController().signal;
    const state = options.state ?? new DeviceState({}, () => undefined);
    this.#report = () => systemInfo(options.board, state);
  }

  async run(): Promise<ProvisionOutcome> {
    const { attempts = 10, checkFailed, install, shown } = this.#options;
    let failures = 0;
    while (!this.#signal.aborted) {
      const reply = await this.#check();
      if (this.#signal.aborted) break;
      if (reply.kind === "fatal") return reply;
      if (reply.kind === "hung") return { kind: "failed", code: "ota_hung", detail: reply.detail };
      if (reply.kind === "useless") {
        failures += 1;
        checkFailed?.(failures, reply.detail);
        if (failures >= attempts) return this.#fallBack(reply.detail);
        await this.#pause(firstRetryMs * 2 ** (failures - 1));
        continue;
      }
      failures = 0;
      const { activation, firmware, serverTime, protocol } = reply;
      if (firmware !== undefined && install !== undefined && (await install(firmware))) {
        return { kind: "installed", version: firmware.version };
      }
      if (activation === undefined) {
        return { kind: "ready", transport: this.#transport(protocol), serverTime, firmware };
      }
      if (activation.code !== undefined) shown?.(activation.code, activation.message);
      await this.#activate(activation);
    }
    return { kind: "failed", code: "stopped", detail: "the device was stopped while it was provisioned" };
  }

  /** The device stops requesting and tries its stored broker, if there is one. */
  #fallBack(detail: string): ProvisionOutcome {
    const transport = this.#transport("mqtt");
    if (transport.settings.endpoint === "") return { kind: "failed", code: "ota_failed", detail };
    return { kind: "ready", transport, serverTime: undefined, firmware: undefined };
  }

  #transport(protocol: "mqtt"): Extract<ProvisionedTransport, { kind: "mqtt" }>;
  #transport(protocol: "mqtt" | "websocket"): ProvisionedTransport;
  #transport(protocol: "mqtt" | "websocket"): ProvisionedTransport {
    return protocol === "mqtt"
      ? { kind: "mqtt", settings: this.#flash.mqtt() }
      : { kind: "websocket", settings: this.#flash.webSocket() };
  }

  async #check(): Promise<Check> {
    const { otaUrl, board } = this.#options;
    if (otaUrl.length < shortestUrl) return { kind: "useless", detail: "the address is too short" };
    const outcome = await this.#post(otaUrl, this.#report());
    if (outcome.kind === "unopened") return { kind: "useless", detail: `no answer from ${otaUrl}` };
    if (outcome.status !== 200) {
      outcome.discard();
      return { kind: "useless", detail: `${otaUrl} answered ${outcome.status}` };
    }
    const body = await outcome.read(wholeReplyLimit - 1);
    if (body.kind === "too-long") {
      outcome.discard();
      return {
        kind: "hung",
        detail: `a reply of ${wholeReplyLimit} bytes or more hangs the device`,
      };
    }
    if (body.kind === "broken-off") return { kind: "useless", detail: "the reply broke off" };
    return readReply(body.bytes, this.#flash, board.firmware);
  }

  async #activate(activation: Activation): Promise<void> {
    for (let tries = 0; tries < activationTries && !this.#signal.aborted; tries += 1) {
      const status = await this.#tryActivation(activation.challenge);
      if (status === 200) return;
      await this.#pause(status === 202 ? pendingMs : refusedMs);
    }
  }

  /** Without a challenge, nothing is sent. */
  async #tryActivation(challenge: ByteText | undefined): Promise<number | undefined> {
    if (challenge === undefined) return undefined;
    const { otaUrl } = this.#options;
    const url = otaUrl.endsWith("/") ? `${otaUrl}activate` : `${otaUrl}/activate`;
    const outcome = await this.#post(url, this.#proof(challenge));
    if (outcome.kind === "unopened") return undefined;
    outcome.discard();
    return outcome.status;
  }

  #proof(challenge: ByteText): ByteText {
    const { serial } = this.#options.board;
    if (serial === undefined) return printJson({});
    const key = Buffer.from(serial.hmacKey, "hex");
    return printJson({
      algorithm: "hmac-sha256",
      serial_number: serial.number,
      challenge: toText(challenge),
      hmac: createHmac("sha256", key).update(toBuffer(challenge)).digest("hex"),
    });
  }

  async #post(url: string, body: ByteText) {
    const { board, http = nodeHttp } = this.#options;
    const bytes = toBuffer(body);
    const headers = {
      "Activation-Version": board.serial === undefined ? "1" : "2",
      "Device-Id": board.mac,
      "Client-Id": board.clientId,
      ...(board.serial === undefined ? {} : { "Serial-Number": board.serial.number }),
      "User-Agent": `${board.name}/${board.firmware}`,
      "Accept-Language": "en-US",
      "Content-Type": "application/json",
      "Content-Length": String(bytes.length),
      Connection: "close",
    };
    return await http.post(url, headers, [bytes], this.#signal);
  }

  async #pause(ms: number): Promise<void> {
    if (this.#signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        timer.cancel();
        this.#signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = this.#clock.after(ms, done);
      this.#signal.addEventListener("abort", done, { once: true });
    });
  }
}
