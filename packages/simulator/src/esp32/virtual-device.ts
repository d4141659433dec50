import { chime, chimeFrameMs } from "../chime.ts";
import type { Board } from "./board.ts";
import { fromBuffer, fromText, toText } from "./byte-text.ts";
import { parseCjson } from "./cjson-parse.ts";
import { type JsonMembers, printJson } from "./cjson-print.ts";
import type { ListenMode } from "./conversation.ts";
import type { DeviceEvent, DeviceEventKind, DeviceEventOf, Phase, WaitOptions } from "./device-events.ts";
import type { VirtualDeviceOptions } from "./device-options.ts";
import type { DeviceState } from "./device-state.ts";
import { Firmware } from "./firmware.ts";
import { systemInfo } from "./reports.ts";
import { defineTool, type ToolCallback, type ToolProperties } from "./tool.ts";

export interface SpeakOptions {
  readonly packets?: readonly Uint8Array[];
  /** Between two packets; 0 sends them all at once. */
  readonly paceMs?: number;
}

/** A virtual board with the tools, state and wire behaviour of the real firmware. */
export class VirtualDevice {
  readonly #firmware: Firmware;

  constructor(options: VirtualDeviceOptions = {}) {
    this.#firmware = new Firmware(options);
  }

  get board(): Board {
    return this.#firmware.board;
  }

  /** The device's visible state. Writing to it acts like a person at the device. */
  get state(): DeviceState {
    return this.#firmware.state;
  }

  /** Device-Id. */
  get id(): string {
    return this.board.mac;
  }

  get connected(): boolean {
    return this.#firmware.connection.reconnector.up;
  }

  /** Whether the device considers its channel open. */
  get audioOpen(): boolean {
    return this.#firmware.connection.audioOpen;
  }

  get phase(): Phase {
    return this.#firmware.conversation.phase;
  }

  get sessionId(): string {
    return toText(this.#firmware.sessionId);
  }

  /** Adds a tool for everyone. Before the first connection it is listed with the board's tools, later at the end. */
  addTool<const P extends ToolProperties>(
    name: string,
    description: string,
    properties: P,
    callback: ToolCallback<P>,
  ): this {
    this.#firmware.add(defineTool(name, description, properties, callback, false));
    return this;
  }

  /** Adds a user-only tool. */
  addUserOnlyTool<const P extends ToolProperties>(
    name: string,
    description: string,
    properties: P,
    callback: ToolCallback<P>,
  ): this {
    this.#firmware.add(defineTool(name, description, properties, callback, true));
    return this;
  }

  /**
   * Resolves once the server's hello has come, over MQTT once the broker has accepted the device. With `autoReconnect` a failed attempt is repeated; without it,
   * and whenever the hello never comes, it rejects with a ConnectError.
   */
  async connect(): Promise<void> {
    this.#firmware.boot();
    await this.#firmware.connection.reconnector.connect();
  }

  /** Disconnects as the firmware does (no Close frame; over MQTT a DISCONNECT) and stays offline until connect(). */
  disconnect(): void {
    this.#firmware.connection.reconnector.leave();
  }

  /**
   * Starts a conversation, like pressing the button. Over MQTT it opens an audio session with a hello, and rejects with a
   * ConnectError if that fails; over WebSocket it is connect().
   */
  async openAudio(): Promise<void> {
    this.#firmware.boot();
    await this.#firmware.connection.audio.open(undefined);
  }

  /** Simulates the wake word: interrupts the device while it speaks, otherwise openAudio(). */
  async wake(wakeWord?: string): Promise<void> {
    this.#firmware.boot();
    if (this.phase === "speaking") this.abort(true);
    else await this.#firmware.connection.audio.open(wakeWord);
  }

  /** Ends the conversation: over MQTT with a goodbye while the connection stays; over WebSocket it is disconnect(). */
  async closeAudio(): Promise<void> {
    await this.#firmware.connection.audio.close();
  }

  /** Ends everything: connection, timers, work in progress. The device cannot be used again. */
  async stop(): Promise<void> {
    this.#firmware.stop();
    await Promise.resolve();
  }

  /** Cuts the power. `returnAfterReboot` decides whether the device comes back. */
  reboot(cause = "power button"): void {
    this.#firmware.powerCut("reboot", cause);
  }

  /** Passes one MCP payload to the device directly, like the LAN interface of some boards; replies are `reply` events. */
  receiveMcp(payload: string | Buffer): void {
    this.#firmware.boot();
    const message = parseCjson(typeof payload === "string" ? fromText(payload) : fromBuffer(payload));
    if (message !== undefined) this.#firmware.server.receive(message);
  }

  /** Sends a JSON-RPC notification. Stock firmware never does; custom firmware may. */
  notify(method: string, params?: JsonMembers): void {
    this.#firmware.sayMcp(printJson({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) }));
  }

  startListening(mode?: ListenMode): void {
    this.#firmware.say(() => this.#firmware.conversation.beginListening(mode));
  }

  stopListening(): void {
    this.#firmware.say(() => this.#firmware.conversation.endListening());
  }

  wakeWord(text: string): void {
    this.#firmware.say(() => this.#firmware.conversation.detected(text));
  }

  abort(byWakeWord = false): void {
    this.#firmware.say(() => this.#firmware.conversation.aborted(byWakeWord));
  }

  /** Sends one Opus packet: over WebSocket in the framing of its protocol version, over MQTT encrypted by UDP. */
  sendAudio(packet: Uint8Array, timestamp = 0): void {
    this.#firmware.sayAudio(packet, timestamp);
  }

  /** Sends audio in real time: a chime, or other Opus packets. Resolves when the last packet is sent. */
  async speak({ packets = chime, paceMs = chimeFrameMs }: SpeakOptions = {}): Promise<void> {
    for (const packet of packets) {
      this.sendAudio(packet);
      await this.sleep(paceMs);
    }
    await this.idle();
  }

  /** The body that a real device posts to the OTA address. */
  systemInfo(): string {
    return toText(systemInfo(this.board, this.state));
  }

  /** For slow tools: never resolves if the device is stopped or restarts in the meantime. */
  async sleep(ms: number): Promise<void> {
    await this.#firmware.sleep(ms);
  }

  /** Resolves when the main loop is idle. */
  async idle(): Promise<void> {
    await this.#firmware.loop.idle();
  }

  /** Calls `listener` with every event; the returned function unsubscribes it. */
  observe(listener: (event: DeviceEvent) => void): () => void {
    return this.#firmware.events.observe(listener);
  }

  on<K extends DeviceEventKind>(kind: K, listener: (event: DeviceEventOf<K>) => void): () => void {
    return this.#firmware.events.on(kind, listener);
  }

  /** The next (matching) event of a kind; rejects with a WaitError after 10 s, on abort and on stop(). */
  async waitFor<K extends DeviceEventKind>(
    kind: K,
    matches?: (event: DeviceEventOf<K>) => boolean,
    options?: WaitOptions,
  ): Promise<DeviceEventOf<K>> {
    return await this.#firmware.events.waitFor(kind, matches, options);
  }
}

/**
 * Makes a device ask the same question again and again, with a pause after each answer: a person with little to say.
 * Where no conversation can be had it tries again after the next pause. The returned function ends it.
 */
export function keepTalking(device: VirtualDevice, pauseMs: number): () => void {
  let over = false;
  const talk = async (): Promise<void> => {
    while (!over) {
      // Never comes back after a power cut, which begins another life below.
      await device.sleep(pauseMs);
      if (over || !device.connected || device.phase === "speaking") continue;
      try {
        if (!device.audioOpen || device.phase === "idle") await device.openAudio();
        await device.speak();
      } catch {
        // It has said so itself, as an event.
      }
    }
  };
  void talk();
  const off = device.on("reboot", () => void talk());
  return () => {
    over = true;
    off();
  };
}
