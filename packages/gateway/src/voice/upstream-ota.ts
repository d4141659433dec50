/**
 * Requests settings from a voice server's own OTA address on behalf of a board [VOI-11]: the WebSocket address, the
 * token, and whether the board must be activated first. The reply is untrusted and bounded.
 */
import { isObject, type JsonObject, parseJson, voiceLimits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { messageOf, TendonError } from "../errors.ts";
import { type OutboundAnswer, OutboundError, outboundPost } from "../outbound-fetch.ts";
import type { OtaIdentity, UpstreamActivation } from "../provisioning/provisioning.ts";

export interface UpstreamSettings {
  readonly url: string;
  readonly token: string | undefined;
}

export interface UpstreamAnswer {
  readonly settings: UpstreamSettings | undefined;
  readonly activation: UpstreamActivation | undefined;
}

const shortText = 256;
const longestToken = 4_000;

export class UpstreamOta {
  readonly #clock: Clock;
  #running = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async ask(url: string, identity: OtaIdentity): Promise<UpstreamAnswer> {
    const { status, text } = await this.#post(url, identity);
    const reply = parseJson(text);
    if (status !== 200 || !isObject(reply)) {
      throw new TendonError(
        "device_error",
        `the voice server's OTA address answered with status ${status} and no settings`,
      );
    }
    return { settings: readSettings(reply["websocket"]), activation: readActivation(reply["activation"]) };
  }

  /** Whether the board is activated. */
  async activate(url: string, identity: OtaIdentity): Promise<boolean> {
    const { status } = await this.#post(`${url.replace(/\/*$/, "")}/activate`, identity);
    return status === 200;
  }

  async #post(url: string, identity: OtaIdentity): Promise<OutboundAnswer> {
    if (this.#running >= voiceLimits.otaAtOnce.max) {
      throw new TendonError(
        "rate_limited",
        "too many requests to the voice server's OTA address are running; retry later",
      );
    }
    this.#running += 1;
    try {
      return await outboundPost(url, {
        clock: this.#clock,
        timeoutMs: voiceLimits.otaMs.max,
        maxBytes: voiceLimits.otaBytes.max,
        headers: {
          ...identity.headers,
          "Content-Type": "application/json",
          "Device-Id": identity.deviceId,
          "Client-Id": identity.clientId,
        },
        body: identity.body,
      });
    } catch (error) {
      const kind = error instanceof OutboundError ? error.kind : "unreachable";
      if (kind === "too_large") {
        throw new TendonError(
          "payload_too_large",
          "the reply of the voice server's OTA address is too large",
        );
      }
      const why = kind === "timeout" ? "did not answer in time" : `cannot be reached (${messageOf(error)})`;
      throw new TendonError("device_error", `the voice server's OTA address ${why}`);
    } finally {
      this.#running -= 1;
    }
  }
}

function readSettings(value: unknown): UpstreamSettings | undefined {
  if (!isObject(value)) return undefined;
  const { url, token } = value;
  if (typeof url !== "string" || !/^wss?:\/\/[^/]+/.test(url) || !URL.canParse(url)) return undefined;
  const usable = typeof token === "string" && token.length > 0 && token.length <= longestToken;
  return { url, token: usable && /^[\x20-\x7e]*$/.test(token) ? token : undefined };
}

/** Keeps only fields that the firmware knows, with the right types, because the firmware does not check them. */
function readActivation(value: unknown): UpstreamActivation | undefined {
  if (!isObject(value)) return undefined;
  const texts = ["code", "message", "challenge"].flatMap((key) => readText(value, key));
  const { timeout_ms: timeout } = value;
  if (!texts.some(([key]) => key === "code" || key === "challenge")) return undefined;
  return { ...Object.fromEntries(texts), ...(typeof timeout === "number" ? { timeout_ms: timeout } : {}) };
}

function readText(value: JsonObject, key: string): [string, string][] {
  const text = value[key];
  return typeof text === "string" && text.length <= shortText ? [[key, text]] : [];
}
