import { systemClock, Timers } from "../clock.ts";
import { ToolDefinitionError } from "../errors.ts";
import { Backlight } from "./backlight.ts";
import { type Board, makeBoard } from "./board.ts";
import { type ByteText, toBuffer, wire } from "./byte-text.ts";
import { type CjsonNode, member } from "./cjson-parse.ts";
import { commonTools } from "./common-tools.ts";
import { Connection } from "./connection.ts";
import { Conversation } from "./conversation.ts";
import { DeviceEvents } from "./device-events.ts";
import type { VirtualDeviceOptions } from "./device-options.ts";
import { DeviceState } from "./device-state.ts";
import type { FaultyDevice } from "./fault.ts";
import { FaultSet } from "./fault-set.ts";
import { downloadImage } from "./firmware-image.ts";
import type { Machine } from "./machine.ts";
import { MainLoop } from "./main-loop.ts";
import { type McpReply, McpServer } from "./mcp-server.ts";
import { nodeHttpTrusting } from "./node-http.ts";
import { screenPicture } from "./screen-picture.ts";
import type { Tool } from "./tool.ts";
import { userTools } from "./user-tools.ts";

/** The firmware of the board: connects the parts and handles power-on, restarts and power-off. */
export class Firmware {
  readonly state: DeviceState;
  readonly events: DeviceEvents;
  readonly loop: MainLoop;
  readonly conversation: Conversation;
  readonly connection: Connection;
  readonly server: McpServer;
  readonly #options: VirtualDeviceOptions;
  readonly #timers: Timers;
  /** Timers that end with a power cut. */
  readonly #lifeTimers: Timers;
  readonly #faults: FaultSet;
  readonly #machine: Machine;
  readonly #stock: { readonly common: readonly Tool[]; readonly user: readonly Tool[] };
  /** Names of all tools, also of those that are registered at boot. */
  readonly #names: Set<string>;
  #boardTools: Tool[] = [];
  #board: Board;
  #booted = false;
  #vision: Machine["vision"];
  #alive: AbortController | undefined;

  constructor(options: VirtualDeviceOptions) {
    this.#options = options;
    this.#timers = new Timers(options.clock ?? systemClock);
    this.#lifeTimers = new Timers(options.clock ?? systemClock);
    this.events = new DeviceEvents(this.#timers);
    this.loop = new MainLoop((error) => this.events.emit({ kind: "failure", error }));
    this.#faults = new FaultSet(options.faults ?? [], this.#faultyDevice());
    const old = this.#faults.has("oldFirmware");
    this.#board = makeBoard({ firmware: old ? "1.9.1" : "2.4.2", ...options.board });
    this.state = new DeviceState(options.board ?? {}, (key, value, previous) =>
      this.events.emit({ kind: "state", key, value, previous }),
    );
    this.#machine = this.#makeMachine();
    this.#stock = { common: commonTools(this.#machine), user: old ? [] : userTools(this.#machine) };
    this.#names = new Set([...this.#stock.common, ...this.#stock.user].map(({ name }) => name));
    this.server = this.#makeServer(old);
    this.conversation = new Conversation({
      events: this.events,
      defaultMode: this.board.aec ? "realtime" : "auto",
      sessionId: () => this.sessionId,
      say: (text) => this.say(() => text),
      emotion: (name) => this.state.set("emotion", name),
      scheduleReboot: (cause) => this.#machine.scheduleReboot(cause),
    });
    this.connection = new Connection(options, {
      machine: this.#machine,
      events: this.events,
      loop: this.loop,
      conversation: this.conversation,
      faults: this.#faults,
      timers: this.#timers,
      lifeTimers: this.#lifeTimers,
      message: (type, message) => this.#receive(type, message),
      ignored: (why) => this.#ignored(why),
      powerCut: (reason, cause) => this.powerCut(reason, cause),
      installed: (version) => this.#startImage(version, "firmware upgrade"),
    });
  }

  get board(): Board {
    return this.#board;
  }

  get sessionId(): ByteText {
    return this.connection.sessionId;
  }

  /** Throws if the board has a tool of this name. The firmware drops the second, or lists both. */
  add(tool: Tool): void {
    const { name } = tool;
    if (this.#names.has(name)) {
      const stock = [...this.#stock.common, ...this.#stock.user].some((other) => other.name === name);
      const who = stock ? "the stock firmware has" : "there already is";
      throw new ToolDefinitionError(`tool ${name}: ${who} a tool with this name; choose another one`);
    }
    this.#names.add(name);
    if (this.#booted) this.server.add(tool);
    else this.#boardTools.push(tool);
  }

  /** Registers the tools once: common ones, the board's, then the firmware's user-only tools. */
  boot(): void {
    if (this.#booted) return;
    this.#faults.run("booted");
    const { common, user } = this.#stock;
    for (const tool of [...common, ...this.#boardTools, ...user]) this.server.add(tool);
    this.#boardTools = [];
    this.#booted = true;
  }

  /** Queues a text, which is built when it is sent, with the session of that time. */
  say(text: () => ByteText): void {
    this.loop.schedule(() => {
      this.connection.put(text());
    });
  }

  sayMcp(payload: ByteText): void {
    this.say(() => this.#envelope(payload));
  }

  sayAudio(packet: Uint8Array, timestamp: number): void {
    this.loop.schedule(() => {
      this.connection.putAudio(packet, timestamp);
    });
  }

  async sleep(ms: number): Promise<void> {
    await this.#lifeTimers.sleep(ms);
  }

  powerCut(reason: "reboot" | "crash", cause: string): void {
    this.events.emit({ kind: "reboot", cause });
    this.#endLife();
    this.connection.audio.abandon("crashed", `the device went down: ${cause}`);
    this.connection.reconnector.powerCut(reason);
  }

  stop(): void {
    this.connection.reconnector.stop();
    this.#endLife();
    this.connection.audio.abandon("stopped", "the device has been stopped");
    this.#timers.clear();
    this.events.stop();
  }

  /** An orderly shutdown, with goodbyes where the transport has them. */
  #restart(cause: string): void {
    this.connection.sayGoodbye();
    this.powerCut("reboot", cause);
  }

  #endLife(): void {
    this.#faults.run("closed");
    this.#lifeTimers.clear();
    this.loop.powerOff();
    this.#alive?.abort();
    this.#alive = undefined;
    this.#vision = undefined;
    this.connection.forget();
  }

  #envelope(payload: ByteText): ByteText {
    return wire`{"session_id":"${this.sessionId}","type":"mcp","payload":${payload}}`;
  }

  #reply(reply: McpReply): void {
    for (const { payload, afterMs } of this.#faults.deliver(reply)) {
      const transmit = (): void => {
        const delivered = this.connection.put(this.#envelope(payload));
        if (!this.events.wanted("reply")) return;
        this.events.emit({ kind: "reply", id: reply.id, payload: toBuffer(payload), delivered });
      };
      if (afterMs <= 0) transmit();
      else this.#lifeTimers.after(afterMs, () => this.loop.schedule(transmit));
    }
  }

  #receive(type: ByteText, message: CjsonNode): void {
    if (type !== "mcp") {
      const complaint = this.conversation.receive(type, message);
      if (complaint !== undefined) this.#ignored(complaint);
      return;
    }
    const payload = member(message, "payload");
    if (payload?.kind !== "object")
      this.#ignored("an mcp payload that is no object (the firmware logs nothing)");
    else if (!this.#faults.has("ignoresMcp")) this.server.receive(payload);
  }

  #ignored(why: string): void {
    this.events.emit({ kind: "frame-ignored", why });
  }

  async #upgrade(url: string): Promise<void> {
    const { life } = this.loop;
    this.connection.pause();
    const image = await downloadImage(this.#machine, url);
    if (life !== this.loop.life) return;
    if (image === undefined) {
      this.connection.resume();
      return;
    }
    this.connection.sayGoodbye();
    this.#startImage(image.version ?? this.board.firmware, "firmware upgrade");
  }

  #startImage(version: string, cause: string): void {
    const failed = this.#faults.failedUpdate;
    if (failed === undefined) this.#board = { ...this.#board, firmware: version };
    this.powerCut("reboot", cause);
    if (failed === "dark") this.connection.reconnector.leave();
  }

  #makeMachine(): Machine {
    const device = this;
    const { state } = this;
    const { http = nodeHttpTrusting(this.#options.tls ?? {}), picture } = this.#options;
    return {
      get board() {
        return device.board;
      },
      state,
      backlight: new Backlight(state, () => this.#timers.now()),
      http,
      get alive() {
        device.#alive ??= new AbortController();
        return device.#alive.signal;
      },
      get vision() {
        return device.#vision;
      },
      picture: async (quality) => {
        try {
          return await (picture?.(quality) ??
            screenPicture(this.board.screen, this.board.name, state, quality));
        } catch (error) {
          this.events.emit({ kind: "failure", error });
          return undefined;
        }
      },
      scheduleReboot: (cause) =>
        this.loop.schedule(async () => {
          await this.#lifeTimers.sleep(this.#options.timing?.rebootDelayMs ?? 1_000);
          this.#restart(cause);
        }),
      scheduleUpgrade: (url) => this.loop.schedule(async () => await this.#upgrade(url)),
      crash: (cause) => this.powerCut("crash", cause),
      hang: async (cause) => {
        this.events.emit({ kind: "hung", cause });
        return await new Promise<never>(() => undefined);
      },
    };
  }

  #makeServer(threaded: boolean): McpServer {
    const device = this;
    return new McpServer({
      loop: this.loop,
      name: this.board.name,
      get version() {
        return device.board.firmware;
      },
      threaded,
      dropped: (why) => this.#ignored(why),
      setVision: (url, token) => {
        if (this.board.camera) this.#vision = { url, token };
      },
      beforeCall: () => this.#faults.beforeCall(),
      calling: (tool, id, args) => this.events.emit({ kind: "call", tool, id, arguments: args }),
      finished: (call) => this.events.emit({ kind: "call-finished", ...call }),
      send: (reply) => this.#reply(reply),
    });
  }

  #faultyDevice(): FaultyDevice {
    return {
      addTool: (tool) => this.add(tool),
      notify: (payload) => this.sayMcp(payload),
      say: (text) => this.say(() => text),
      restart: (cause) => this.powerCut("reboot", cause),
      sleep: async (ms) => await this.sleep(ms),
      after: (ms, task) => this.#lifeTimers.after(ms, task),
      random: () => (this.#options.random ?? Math.random)(),
    };
  }
}
