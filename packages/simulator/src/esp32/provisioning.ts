import type { Clock } from "../clock.ts";
import { DeviceOptionError } from "../errors.ts";
import type { DeviceEvents } from "./device-events.ts";
import type { TlsTrust } from "./device-options.ts";
import type { DownloadedImage } from "./firmware-image.ts";
import { Flash } from "./flash.ts";
import type { DeviceHttp } from "./http.ts";
import type { Machine } from "./machine.ts";
import { parseEndpoint } from "./mqtt-settings.ts";
import { mqttTransport } from "./mqtt-transport.ts";
import { type ProvisionedTransport, type ProvisionOutcome, provision } from "./ota.ts";
import type { OpenOutcome, TransportFactory } from "./transport.ts";
import { webSocketTransport } from "./websocket-transport.ts";

export interface ProvisioningOptions {
  readonly otaUrl: string;
  readonly attempts: number;
  readonly tls: TlsTrust;
  readonly clock: Clock;
  readonly dialGate: (() => Promise<() => void>) | undefined;
}

export interface ProvisioningHost {
  readonly machine: Machine;
  readonly events: DeviceEvents;
  use(transport: TransportFactory): void;
  /** Downloads the image; undefined if that fails. */
  download(url: string): Promise<DownloadedImage | undefined>;
  installed(version: string): void;
}

type Stage =
  | { readonly at: "unknown" }
  | { readonly at: "asking"; readonly given: AbortController; readonly outcome: Promise<OpenOutcome> }
  | { readonly at: "ready" };

/** The part of a boot that requests the settings. Its flash survives reboots. */
export class Provisioning {
  readonly #options: ProvisioningOptions;
  readonly #host: ProvisioningHost;
  readonly #flash = new Flash();
  #stage: Stage = { at: "unknown" };
  /** The settings in flash for the next boot. */
  #image: DownloadedImage | undefined;

  constructor(options: ProvisioningOptions, host: ProvisioningHost) {
    this.#options = options;
    this.#host = host;
  }

  /** Undefined if the settings are already known since the last boot. */
  prepare(): Promise<OpenOutcome> | undefined {
    if (this.#stage.at === "ready") return undefined;
    if (this.#stage.at === "asking") return this.#stage.outcome;
    const given = new AbortController();
    const outcome = this.#ask(given.signal);
    this.#stage = { at: "asking", given, outcome };
    return outcome;
  }

  /** Aborts provisioning, because the device disconnects. */
  cancel(): void {
    if (this.#stage.at === "asking") this.reset();
  }

  /** After a power cut, the next boot requests the settings again. */
  reset(): void {
    const stage = this.#stage;
    this.#stage = { at: "unknown" };
    if (stage.at === "asking") stage.given.abort();
  }

  async #ask(signal: AbortSignal): Promise<OpenOutcome> {
    const { otaUrl, attempts, clock } = this.#options;
    const { machine, events } = this.#host;
    const { board, state } = machine;
    const outcome = await provision({
      otaUrl,
      attempts,
      clock,
      board,
      state,
      signal,
      flash: this.#flash,
      http: this.#gated(),
      shown: (code, message) => events.emit({ kind: "activation-code", code, message }),
      checkFailed: (attempt, detail) => events.emit({ kind: "ota-failed", attempt, detail }),
      install: async ({ url }) => {
        this.#image = await this.#host.download(url);
        return this.#image !== undefined && !signal.aborted;
      },
    });
    if (signal.aborted) return { ok: false, code: "stopped", detail: "the device disconnected" };
    return this.#conclude(outcome);
  }

  #conclude(outcome: ProvisionOutcome): OpenOutcome {
    switch (outcome.kind) {
      case "failed":
        this.#stage = { at: "unknown" };
        return { ok: false, code: outcome.code, detail: outcome.detail };
      case "fatal":
        this.#host.machine.crash(outcome.cause);
        return { ok: false, code: "crashed", detail: outcome.cause };
      case "installed":
        this.#host.installed(this.#image?.version ?? outcome.version);
        return { ok: false, code: "crashed", detail: "the device restarts with new firmware" };
      case "ready":
        return this.#ready(outcome.transport);
    }
  }

  #ready(transport: ProvisionedTransport): OpenOutcome {
    if (transport.kind === "mqtt" && parseEndpoint(transport.settings.endpoint) === undefined) {
      this.#host.machine.crash("an MQTT port that is no number");
      return { ok: false, code: "crashed", detail: `endpoint "${transport.settings.endpoint}"` };
    }
    try {
      this.#host.use(factoryOf(transport, this.#options.tls));
    } catch (error) {
      if (!(error instanceof DeviceOptionError)) throw error;
      this.#stage = { at: "unknown" };
      return { ok: false, code: "no_transport", detail: error.message };
    }
    this.#stage = { at: "ready" };
    this.#host.events.emit({ kind: "provisioned", transport: transport.kind });
    return { ok: true };
  }

  /** Requests count as connection attempts, so that a fleet does not send all at once; waiting for approval does not. */
  #gated(): DeviceHttp {
    const { http } = this.#host.machine;
    const { dialGate } = this.#options;
    if (dialGate === undefined) return http;
    return {
      get: async (url, signal) => await http.get(url, signal),
      post: async (url, headers, chunks, signal) => {
        const release = await dialGate();
        try {
          return await http.post(url, headers, chunks, signal);
        } finally {
          release();
        }
      },
    };
  }
}

function factoryOf(transport: ProvisionedTransport, tls: TlsTrust): TransportFactory {
  return transport.kind === "mqtt"
    ? mqttTransport({ ...transport.settings, ...tls })
    : webSocketTransport({ ...transport.settings, ...tls });
}
