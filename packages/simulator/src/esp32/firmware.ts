import { systemClock, Timers } from "../clock.ts";
import { AudioSession } from "./audio-session.ts";
import { type Board, makeBoard } from "./board.ts";
import { type ByteText, fromText, toBuffer, toText, wire } from "./byte-text.ts";
import { type CjsonNode, member } from "./cjson-parse.ts";
import { commonTools } from "./common-tools.ts";
import { Conversation } from "./conversation.ts";
import { DeviceEvents } from "./device-events.ts";
import type { VirtualDeviceOptions } from "./device-options.ts";
import { DeviceState } from "./device-state.ts";
import type { FaultyDevice } from "./fault.ts";
import { FaultSet } from "./fault-set.ts";
import { Lifeline } from "./lifeline.ts";
import type { Machine } from "./machine.ts";
import { MainLoop } from "./main-loop.ts";
import { type McpReply, McpServer } from "./mcp-server.ts";
import { mqttTransport } from "./mqtt-transport.ts";
import { nodeHttp } from "./node-http.ts";
import { screenPicture } from "./screen-picture.ts";
import type { Tool } from "./tool.ts";
import type { Greeting, Transport, TransportFactory, TransportHost } from "./transport.ts";
import { userTools } from "./user-tools.ts";
import { webSocketTransport } from "./websocket-transport.ts";

const firmwareImageLimit = 16 * 1024 * 1024;
const textFont = { bundle: "noto-v1", charset: "basic", size: 20, bpp: 4 };

/** What runs on the board: wires the parts together and owns the device's lives, from power-on to power-off. */
export class Firmware {
  readonly board: Board;
  readonly state: DeviceState;
  readonly events: DeviceEvents;
  readonly loop: MainLoop;
  readonly conversation: Conversation;
  readonly lifeline: Lifeline;
  readonly audio: AudioSession;
  readonly transport: Transport | undefined;
  readonly server: McpServer;
  readonly #options: VirtualDeviceOptions;
  readonly #timers: Timers;
  /** Timers that a power cut takes with it. */
  readonly #lifeTimers: Timers;
  readonly #faults: FaultSet;
  readonly #machine: Machine;
  #boardTools: Tool[] = [];
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
    this.board = makeBoard({ firmware: old ? "1.9.1" : "2.4.2", ...options.board });
    this.state = new DeviceState(options.board ?? {}, (key, value, previous) =>
      this.events.emit({ kind: "state", key, value, previous }),
    );
    this.#machine = this.#makeMachine();
    this.server = this.#makeServer(old);
    this.conversation = new Conversation({
      events: this.events,
      defaultMode: this.board.aec ? "realtime" : "auto",
      sessionId: () => this.sessionId,
      say: (text) => this.say(() => text),
      emotion: (name) => this.state.set("emotion", name),
      scheduleReboot: (cause) => this.#machine.scheduleReboot(cause),
    });
    this.transport = this.#makeTransport();
    this.lifeline = this.#makeLifeline();
    this.audio = this.#makeAudioSession();
  }

  get sessionId(): ByteText {
    return this.transport?.sessionId ?? fromText("");
  }

  add(tool: Tool): void {
    if (this.#booted) this.server.add(tool);
    else this.#boardTools.push(tool);
  }

  /** Tools are put together once: common ones, the board's, then the user-only ones of the firmware. */
  boot(): void {
    if (this.#booted) return;
    this.#faults.tell("booted");
    const stock = this.#faults.has("oldFirmware") ? [] : userTools(this.#machine);
    for (const tool of [...commonTools(this.#machine), ...this.#boardTools, ...stock]) this.server.add(tool);
    this.#boardTools = [];
    this.#booted = true;
  }

  /** Queues a text; it is made when its turn comes, with the session of that moment. */
  say(text: () => ByteText): void {
    this.loop.schedule(() => {
      this.#put(text());
    });
  }

  sayMcp(payload: ByteText): void {
    this.say(() => this.#envelope(payload));
  }

  sayAudio(packet: Uint8Array, timestamp: number): void {
    this.loop.schedule(() => {
      const outcome = this.transport?.sendAudio(packet, timestamp) ?? "closed";
      if (outcome !== "sent") this.events.emit({ kind: "frame-lost", why: outcome, bytes: packet.length });
      else this.events.emit({ kind: "audio", direction: "out", bytes: packet.length, played: false });
    });
  }

  async sleep(ms: number): Promise<void> {
    await this.#lifeTimers.sleep(ms);
  }

  powerCut(reason: "reboot" | "crash", cause: string): void {
    this.events.emit({ kind: "reboot", cause });
    this.#endLife();
    this.audio.abandon("crashed", `the device went down: ${cause}`);
    this.lifeline.powerCut(reason);
  }

  stop(): void {
    this.lifeline.stop();
    this.#endLife();
    this.audio.abandon("stopped", "the device has been stopped");
    this.#timers.clear();
    this.events.stop();
  }

  /** The orderly way down: whoever can be told is told. */
  #restart(cause: string): void {
    this.audio.leave();
    this.transport?.close();
    this.powerCut("reboot", cause);
  }

  #endLife(): void {
    this.#faults.tell("closed");
    this.#lifeTimers.clear();
    this.loop.powerOff();
    this.#alive?.abort();
    this.#alive = undefined;
    this.#vision = undefined;
    this.transport?.forget();
  }

  #envelope(payload: ByteText): ByteText {
    return wire`{"session_id":"${this.sessionId}","type":"mcp","payload":${payload}}`;
  }

  #put(text: ByteText): boolean {
    const outcome = this.transport?.sendText(text) ?? "closed";
    if (outcome === "sent") return true;
    this.events.emit({ kind: "frame-lost", why: outcome, bytes: text.length });
    if (this.transport?.audio !== undefined) this.conversation.enter("idle");
    return false;
  }

  #reply(reply: McpReply): void {
    for (const { payload, afterMs } of this.#faults.deliver(reply)) {
      const transmit = (): void => {
        const delivered = this.#put(this.#envelope(payload));
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
    if (payload?.kind !== "object") this.#ignored("an mcp payload that is no object");
    else if (!this.#faults.has("deaf")) this.server.receive(payload);
  }

  #ignored(why: string): void {
    this.events.emit({ kind: "frame-ignored", why });
  }

  #greeting(): Greeting | undefined {
    const { aec, glyphPush } = this.board;
    return this.#faults.greeting({
      features: { ...(aec ? { aec } : {}), mcp: true, glyph_push: glyphPush },
      textFont: glyphPush ? textFont : undefined,
    });
  }

  async #upgrade(url: string): Promise<void> {
    const { life } = this.loop;
    // A connection that is more than the audio channel is kept, and the reply to a failed order gets through.
    const kept = this.transport?.audio !== undefined;
    if (kept) this.audio.leave();
    else this.lifeline.pause("upgrade");
    const outcome = await this.#machine.http.get(url, this.#machine.alive);
    const answered = outcome.kind === "answered" ? outcome : undefined;
    const sound = answered?.status === 200 && (answered.contentLength ?? 0) > 0;
    const image = sound ? await answered.read(firmwareImageLimit) : undefined;
    if (life !== this.loop.life) return;
    if (image !== undefined) return this.#restart("firmware upgrade");
    answered?.discard();
    if (!kept) this.lifeline.resume();
  }

  #makeMachine(): Machine {
    const device = this;
    const { board, state } = this;
    const { http = nodeHttp, picture } = this.#options;
    return {
      board,
      state,
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
          return await (picture?.(quality) ?? screenPicture(board.screen, board.name, state, quality));
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
    };
  }

  #makeServer(threaded: boolean): McpServer {
    return new McpServer({
      loop: this.loop,
      name: this.board.name,
      version: this.board.firmware,
      threaded,
      setVision: (url, token) => {
        if (this.board.camera) this.#vision = { url, token };
      },
      beforeCall: () => this.#faults.beforeCall(),
      calling: (tool, id, args) => this.events.emit({ kind: "call", tool, id, arguments: args }),
      finished: (call) => this.events.emit({ kind: "call-finished", ...call }),
      send: (reply) => this.#reply(reply),
    });
  }

  #makeTransport(): Transport | undefined {
    const { timing } = this.#options;
    const host: TransportHost = {
      board: this.board,
      timers: this.#lifeTimers,
      pong: !this.#faults.has("noPong"),
      helloWaitMs: timing?.helloWaitMs ?? 10_000,
      greeting: () => this.#greeting(),
      message: (type, message) => this.#receive(type, message),
      audio: (packet) => {
        const played = this.conversation.phase === "speaking";
        this.events.emit({ kind: "audio", direction: "in", bytes: packet.length, played });
      },
      frame: (direction, text) => {
        if (this.events.wanted("frame")) this.events.emit({ kind: "frame", direction, text: toText(text) });
      },
      ignored: (why) => this.#ignored(why),
      closed: (reason, code) => this.lifeline.lost(reason, code),
      goodbye: () => this.audio.ended(),
      crashed: (cause) => this.powerCut("crash", cause),
    };
    return transportOf(this.#options)?.(host);
  }

  #makeLifeline(): Lifeline {
    const {
      autoReconnect = true,
      returnAfterReboot = autoReconnect,
      timing,
      backoff,
      random,
      dialGate,
    } = this.#options;
    return new Lifeline(
      {
        autoReconnect,
        returnAfterReboot,
        bootMs: timing?.bootMs ?? 2_000,
        backoff,
        random: random ?? Math.random,
        dialGate,
      },
      {
        events: this.events,
        loop: this.loop,
        timers: this.#timers,
        transport: this.transport,
        dialling: () => {
          if (this.transport?.audio === undefined) this.conversation.enter("connecting");
        },
        opened: (greeted) => {
          const channelToo = this.transport?.audio === undefined;
          if (greeted && channelToo) this.#put(this.conversation.beginListening());
          this.#faults.tell("opened");
        },
        down: (reason) => {
          this.#faults.tell("closed");
          const survives = reason === "network" || reason === "refused";
          if (this.transport?.audio === undefined || !survives) this.conversation.enter("idle");
        },
      },
    );
  }

  #makeAudioSession(): AudioSession {
    const device = this;
    return new AudioSession({
      loop: this.loop,
      events: this.events,
      get transport() {
        return device.transport;
      },
      connect: async () => await this.lifeline.connect(true),
      connectFully: async () => await this.lifeline.connect(),
      disconnect: () => this.lifeline.leave(),
      dialling: () => this.conversation.enter("connecting"),
      opened: (wakeWord) => {
        if (wakeWord !== undefined) this.#put(this.conversation.detected(wakeWord));
        this.#put(this.conversation.beginListening());
      },
      idle: () => this.conversation.enter("idle"),
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

function transportOf({ url, token, mqtt, transport }: VirtualDeviceOptions): TransportFactory | undefined {
  if (transport !== undefined) return transport;
  if (mqtt !== undefined) return mqttTransport(mqtt);
  return url === undefined
    ? undefined
    : webSocketTransport({ url, ...(token === undefined ? {} : { token }) });
}
