import { systemClock, type Timers } from "../clock.ts";
import { DeviceOptionError } from "../errors.ts";
import { AudioSession } from "./audio-session.ts";
import { type ByteText, fromText, toText } from "./byte-text.ts";
import type { CjsonNode } from "./cjson-parse.ts";
import type { Conversation } from "./conversation.ts";
import type { DeviceEvents } from "./device-events.ts";
import type { VirtualDeviceOptions } from "./device-options.ts";
import type { FaultSet } from "./fault-set.ts";
import { downloadImage } from "./firmware-image.ts";
import type { Machine } from "./machine.ts";
import type { MainLoop } from "./main-loop.ts";
import { mqttTransport } from "./mqtt-transport.ts";
import { Provisioning } from "./provisioning.ts";
import { Reconnector } from "./reconnector.ts";
import type { Transport, TransportFactory, TransportHost } from "./transport.ts";
import { webSocketTransport } from "./websocket-transport.ts";

export interface ConnectionHost {
  readonly machine: Machine;
  readonly events: DeviceEvents;
  readonly loop: MainLoop;
  readonly conversation: Conversation;
  readonly faults: FaultSet;
  readonly timers: Timers;
  /** Timers that end with a power cut. */
  readonly lifeTimers: Timers;
  message(type: ByteText, message: CjsonNode): void;
  ignored(why: string): void;
  powerCut(reason: "reboot" | "crash", cause: string): void;
  /** New firmware is in flash. */
  installed(version: string): void;
}

const textFont = { bundle: "noto-v1", charset: "basic", size: 20, bpp: 4 };

/** The device's connection to its server, and what survives disconnections and restarts. */
export class Connection {
  readonly reconnector: Reconnector;
  readonly audio: AudioSession;
  readonly #options: VirtualDeviceOptions;
  readonly #host: ConnectionHost;
  readonly #transportHost: TransportHost;
  readonly #provisioning: Provisioning | undefined;
  #transport: Transport | undefined;

  constructor(options: VirtualDeviceOptions, host: ConnectionHost) {
    this.#options = options;
    this.#host = host;
    this.#transportHost = this.#makeTransportHost();
    this.#transport = transportOf(options)?.(this.#transportHost);
    this.#provisioning = this.#makeProvisioning();
    this.reconnector = this.#makeReconnector();
    this.audio = this.#makeAudioSession();
  }

  get sessionId(): ByteText {
    return this.#transport?.sessionId ?? fromText("");
  }

  get audioOpen(): boolean {
    return (this.#transport?.audio ?? this.#transport)?.isOpen ?? false;
  }

  put(text: ByteText): boolean {
    const outcome = this.#transport?.sendText(text) ?? "closed";
    if (outcome === "sent") return true;
    this.#host.events.emit({ kind: "frame-lost", why: outcome, bytes: text.length });
    if (this.#audioApart) this.#host.conversation.enter("idle");
    return false;
  }

  putAudio(packet: Uint8Array, timestamp: number): void {
    const { events } = this.#host;
    const outcome = this.#transport?.sendAudio(packet, timestamp) ?? "closed";
    if (outcome !== "sent") events.emit({ kind: "frame-lost", why: outcome, bytes: packet.length });
    else events.emit({ kind: "audio", direction: "out", bytes: packet.length, played: false, packet });
  }

  /** Closes the audio channel for a download. An MQTT connection stays open. */
  pause(): void {
    if (this.#audioApart) this.audio.leave();
    else this.reconnector.pause("upgrade");
  }

  resume(): void {
    if (!this.#audioApart) this.reconnector.resume();
  }

  /** An orderly shutdown, with goodbyes where the transport has them. */
  sayGoodbye(): void {
    this.audio.leave();
    this.#transport?.close();
  }

  /** Resets its memory, as a power cut does. */
  forget(): void {
    this.#transport?.forget();
    this.#provisioning?.reset();
  }

  get #audioApart(): boolean {
    return this.#transport?.audio !== undefined;
  }

  #makeTransportHost(): TransportHost {
    const { machine, events, lifeTimers, faults, conversation } = this.#host;
    const { aec, glyphPush } = machine.board;
    return {
      board: machine.board,
      timers: lifeTimers,
      pong: !faults.has("noPong"),
      helloWaitMs: this.#options.timing?.helloWaitMs ?? 10_000,
      greeting: () =>
        faults.greeting({
          features: { ...(aec ? { aec } : {}), mcp: true, glyph_push: glyphPush },
          textFont: glyphPush ? textFont : undefined,
        }),
      message: (type, message) => this.#host.message(type, message),
      audio: (packet) => {
        const played = conversation.phase === "speaking";
        events.emit({ kind: "audio", direction: "in", bytes: packet.length, played, packet });
      },
      frame: (direction, text) => {
        if (events.wanted("frame")) events.emit({ kind: "frame", direction, text: toText(text) });
      },
      ignored: (why) => this.#host.ignored(why),
      closed: (reason, code) => this.reconnector.lost(reason, code),
      goodbye: () => this.audio.ended(),
      crashed: (cause) => this.#host.powerCut("crash", cause),
    };
  }

  #makeProvisioning(): Provisioning | undefined {
    const { otaUrl, autoReconnect = true, tls = {}, clock = systemClock, dialGate } = this.#options;
    if (otaUrl === undefined) return undefined;
    const { machine, events } = this.#host;
    return new Provisioning(
      { otaUrl, attempts: autoReconnect ? 10 : 1, tls, clock, dialGate },
      {
        machine,
        events,
        use: (make) => {
          this.#transport = make(this.#transportHost);
        },
        download: async (url) => await downloadImage(machine, url),
        installed: (version) => this.#host.installed(version),
      },
    );
  }

  #makeReconnector(): Reconnector {
    const { autoReconnect = true, returnAfterReboot = autoReconnect } = this.#options;
    const { timing, backoff, random = Math.random, dialGate } = this.#options;
    const { events, loop, timers, conversation, faults } = this.#host;
    const connection = this;
    return new Reconnector(
      { autoReconnect, returnAfterReboot, bootMs: timing?.bootMs ?? 2_000, backoff, random, dialGate },
      {
        events,
        loop,
        timers,
        get transport() {
          return connection.#transport;
        },
        prepare: () => this.#provisioning?.prepare(),
        left: () => this.#provisioning?.cancel(),
        dialling: () => {
          if (!this.#audioApart) conversation.enter("connecting");
        },
        opened: (greeted) => {
          if (greeted && !this.#audioApart) this.put(conversation.beginListening());
          faults.run("opened");
        },
        down: (reason) => {
          faults.run("closed");
          const talkGoesOn = this.#audioApart && (reason === "network" || reason === "refused");
          if (!talkGoesOn) conversation.enter("idle");
        },
      },
    );
  }

  #makeAudioSession(): AudioSession {
    const { loop, events, conversation } = this.#host;
    const connection = this;
    return new AudioSession({
      loop,
      events,
      get transport() {
        return connection.#transport;
      },
      connect: async () => await this.reconnector.connect(true),
      connectFully: async () => await this.reconnector.connect(),
      disconnect: () => this.reconnector.leave(),
      dialling: () => conversation.enter("connecting"),
      opened: (wakeWord) => {
        if (wakeWord !== undefined) this.put(conversation.detected(wakeWord));
        this.put(conversation.beginListening());
      },
      idle: () => conversation.enter("idle"),
    });
  }
}

/** Undefined where nothing but the configuration address is known, or nothing at all. */
function transportOf(options: VirtualDeviceOptions): TransportFactory | undefined {
  const { url, token, mqtt, transport, otaUrl, tls } = options;
  if (otaUrl !== undefined && (url !== undefined || mqtt !== undefined || transport !== undefined)) {
    throw new DeviceOptionError("a device that asks otaUrl for its address cannot be given another");
  }
  if (transport !== undefined) return transport;
  if (mqtt !== undefined) return mqttTransport({ ...tls, ...mqtt });
  return url === undefined
    ? undefined
    : webSocketTransport({ ...tls, url, ...(token === undefined ? {} : { token }) });
}
