/**
 * Devices as entities of Home Assistant: discovery, availability and state on the user's own broker, and commands as
 * ordinary calls of the token that `homeAssistant.token` names.
 */
import { type GatewayEvent, isObject, type JsonObject, parseJson } from "@tendon/protocol";
import { hasScope, NamedToken, type Principal, type Tokens } from "../../access/access.ts";
import { type Clock, isoTime, type Timer } from "../../clock.ts";
import type { Config } from "../../config/config.ts";
import type { Events } from "../../events/events.ts";
import { untilListed } from "../../fleet/fleet.ts";
import type { Services } from "../services.ts";
import type { BrokerConnection, BrokerListener, IncomingPacket } from "./broker-connection.ts";
import { Commands, origin } from "./commands.ts";
import { type Described, gatewayTopic, root, slugOf, topicsOf } from "./discovery.ts";
import { EarlierMessages } from "./earlier-messages.ts";
import type { Entity } from "./entities.ts";
import { Ownership } from "./ownership.ts";
import { PublishedDevices } from "./published-devices.ts";
import { StatusPolls } from "./status-polls.ts";
import { Takeover } from "./takeover.ts";
import { photoTool, statusTool } from "./tool-entities.ts";
import { textOf } from "./tool-results.ts";

export { cleanTopics } from "./clean.ts";

export interface HomeAssistantDependencies {
  readonly settings: NonNullable<Config["homeAssistant"]>;
  readonly clock: Clock;
  readonly events: Events;
  readonly services: Services;
  readonly tokens: Tokens;
  /** This run of the gateway, and its name for people. */
  readonly run: string;
  readonly name: string;
  readonly version: string;
  readonly url: () => string;
  /** Logs a change of the connection, or a command that was not carried out (`rejected`, with a code). */
  readonly report: (state: ReportedState, detail?: string) => void;
  /** Counts a command against the token's rate limit; throws `rate_limited`. */
  readonly spend: (principal: Principal) => void;
  readonly latestFirmware: (device: Described) => Promise<string | undefined>;
  readonly serialOf: (id: string) => Promise<string | undefined>;
  readonly connect: (will: { topic: string; payload: string }, listener: BrokerListener) => BrokerConnection;
}

type ReportedState = "connected" | "disconnected" | "waiting" | "standby" | "problem" | "rejected";

export interface HomeAssistantState {
  readonly state: "waiting_for_token" | "connecting" | "connected" | "standby";
  readonly detail: string | null;
  readonly devices: number;
  readonly entities: number;
  readonly mqttVersion: string | null;
  /** When Home Assistant last said that it is online, or sent a command. */
  readonly seenAt: string | null;
}

const reconcileMs = 2_000;
/** A published picture is not retained, and has at most this size. */
const maxPictureBytes = 1_048_576;
const maxStateLength = 255;
const maxNameLength = 64;
const maxNotificationLength = 4_096;
const defaultPrefix = "homeassistant";

export class HomeAssistant {
  readonly #dependencies: HomeAssistantDependencies;
  readonly #token: NamedToken;
  readonly #ownership: Ownership;
  readonly #earlier = new EarlierMessages();
  readonly #devices: PublishedDevices;
  readonly #polls: StatusPolls;
  readonly #commands: Commands;
  readonly #unsubscribe: () => void;
  #broker: BrokerConnection | undefined;
  #timer: Timer | undefined;
  #takeover: Takeover | undefined;
  #owned = false;
  #seenAt: number | undefined;
  #problem: string | undefined;

  constructor(dependencies: HomeAssistantDependencies) {
    this.#dependencies = dependencies;
    const { settings, clock, services, tokens, run, name, version, url } = dependencies;
    this.#token = new NamedToken(tokens, settings.token, () => this.#tokenChanged());
    this.#ownership = new Ownership({
      clock,
      run,
      name,
      publish: (topic, payload, retain) => this.#broker?.publish(topic, payload, { qos: 1, retain }),
      changed: () => this.#ownerChanged(),
    });
    this.#devices = new PublishedDevices({
      fleet: services.fleet,
      selected: settings.devices,
      overrides: settings.entities ?? [],
      earlier: this.#earlier,
      principal: () => this.#token.principal,
      publish: (topic, payload, retain) => this.#publish(topic, payload, retain),
      latestFirmware: dependencies.latestFirmware,
      serialOf: dependencies.serialOf,
      settings: () => ({
        prefix: this.#prefix,
        version,
        url: url(),
        followsGateway: settings.whenOffline === "queue",
      }),
    });
    this.#polls = new StatusPolls({
      clock,
      isSelected: (id) => this.#owned && this.#devices.isSelected(id),
      isOnline: (id) => services.fleet.devices.get(id)?.handle !== undefined,
      isTalking: (id) => services.fleet.devices.get(id)?.isTalking === true,
      ids: () => services.fleet.admin.ids(),
      read: (id) => this.#read(id),
    });
    this.#commands = new Commands({
      calls: services.calls,
      queue: services.queue,
      devices: this.#devices,
      queues: settings.whenOffline === "queue",
      principal: () => this.#token.principal,
      spend: dependencies.spend,
      report: (code) => dependencies.report("rejected", code),
      publish: (topic, payload, retain) => this.#publish(topic, payload, retain),
      send: (topic, message) => this.#send(topic, message),
      sendPicture: (topic, bytes) => this.#sendPicture(topic, bytes),
      isTalking: (id) => this.#polls.isTalking(id),
      readStatus: (id) => this.#polls.now(id),
      readValue: (id, entity) => this.#readValue(id, entity),
    });
    this.#unsubscribe = dependencies.events.subscribe((event) => this.#event(event));
    this.#tokenChanged();
  }

  get #prefix(): string {
    return this.#dependencies.settings.discoveryPrefix ?? defaultPrefix;
  }

  get state(): HomeAssistantState {
    const figures = {
      devices: this.#devices.count,
      entities: this.#devices.entityCount,
      seenAt: this.#seenAt === undefined ? null : isoTime(this.#seenAt),
    };
    const { state: token } = this.#token;
    if (token.kind === "waiting_for_token")
      return { state: "waiting_for_token", detail: token.detail, ...figures, mqttVersion: null };
    if (this.#broker?.connected !== true)
      return { state: "connecting", detail: this.#problem ?? null, ...figures, mqttVersion: null };
    const mqttVersion = this.#broker.version;
    if (this.#owned) return { state: "connected", detail: this.#problem ?? null, ...figures, mqttVersion };
    const other = this.#ownership.otherOwner;
    if (other === undefined || this.#ownership.isClaiming)
      return { state: "connecting", detail: null, ...figures, mqttVersion };
    const detail = `another gateway (${other}) publishes on this broker`;
    return { state: "standby", detail, ...figures, mqttVersion };
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    this.#token.stop();
    this.#polls.stop();
    await this.#disconnect();
  }

  #tokenChanged(): void {
    const { settings, report } = this.#dependencies;
    const { state } = this.#token;
    if (state.kind === "waiting_for_token") {
      report("waiting", state.detail);
      void this.#disconnect();
    } else if (this.#broker === undefined) this.#connect();
    else if (this.#owned) void this.#publishAll();
    if (state.kind === "valid" && !hasScope(state.principal, "call"))
      report("problem", `the token \`${settings.token}\` lacks the scope \`call\``);
  }

  #connect(): void {
    const will = { topic: gatewayTopic, payload: "offline" };
    // The last connection may still be closing, and has no say in this one.
    const isCurrent = () => this.#broker === broker;
    const broker = this.#dependencies.connect(will, {
      connected: () => {
        if (isCurrent()) this.#connected();
      },
      closed: (wasConnected) => {
        if (!isCurrent()) return;
        if (wasConnected) this.#dependencies.report("disconnected");
        this.#ownership.disconnected();
      },
      error: (message) => {
        if (isCurrent()) this.#hasProblem(message);
      },
      message: (topic, payload, packet) => {
        if (isCurrent()) this.#message(topic, payload, packet);
      },
    });
    this.#broker = broker;
  }

  async #disconnect(): Promise<void> {
    const broker = this.#broker;
    this.#ownership.release();
    this.#broker = undefined;
    this.#ownerChanged();
    await broker?.stop(true);
  }

  #connected(): void {
    this.#problem = undefined;
    this.#dependencies.report("connected", `MQTT ${this.#broker?.version ?? ""}`);
    this.#broker?.subscribe(this.#ownership.filters, 1);
    this.#ownership.connected();
  }

  #ownerChanged(): void {
    const { report, run } = this.#dependencies;
    const owns = this.#broker !== undefined && this.#ownership.owns;
    const other = this.#ownership.otherOwner;
    if (this.#ownership.hasLiveOwner) this.#commands.forgetEnded();
    if (!owns && other !== undefined && this.#broker !== undefined && !this.#ownership.isClaiming)
      report("standby", `another gateway (${other}) publishes on this broker`);
    if (owns === this.#owned) return;
    this.#owned = owns;
    this.#timer?.cancel();
    this.#takeover = undefined;
    this.#devices.reset();
    const broker = this.#broker;
    if (!owns || broker === undefined) return;
    broker.publish(gatewayTopic, "online", { qos: 1, retain: true });
    const prefix = this.#prefix;
    broker.subscribe([`${prefix}/status`, `${root}/+/set/+`, `${root}/+/press/+`], 1);
    this.#takeover = new Takeover({
      broker,
      prefix,
      run,
      earlier: this.#earlier,
      done: () => this.#begin(),
      problem: (detail) => this.#hasProblem(detail),
    });
  }

  /** What earlier runs have left is known now. */
  #begin(): void {
    this.#timer = this.#dependencies.clock.every(reconcileMs, () => {
      this.#devices.reconcile();
      void this.#commands.publishEnded();
    });
    void this.#publishAll();
  }

  async #publishAll(): Promise<void> {
    this.#polls.askAll();
    await this.#devices.publishAll();
    await this.#commands.publishEnded();
  }

  #hasProblem(detail: string): void {
    if (detail !== this.#problem) this.#dependencies.report("problem", detail);
    this.#problem = detail;
  }

  #message(topic: string, payload: Buffer, packet: IncomingPacket): void {
    if (this.#ownership.message(topic, payload) || !this.#owned) return;
    if (this.#takeover?.message(topic, payload, packet.retain) === true) return;
    if (topic === `${this.#prefix}/status`) {
      // Home Assistant has started: it has forgotten what was not retained.
      if (payload.toString() !== "online") return;
      this.#seenAt = this.#dependencies.clock.now();
      void this.#publishAll();
    } else if (!packet.retain && this.#commands.isCommand(topic)) {
      this.#seenAt = this.#dependencies.clock.now();
      void this.#commands.run(topic, payload, packet);
    }
  }

  #event({ type, device, data }: GatewayEvent): void {
    if (device === undefined) return;
    // Also while another gateway publishes: this one may take over during the conversation.
    if (type === "voice.started" || type === "voice.ended" || type === "device.offline")
      this.#polls.conversation(device, type === "voice.started");
    if (!this.#devices.isSelected(device)) return;
    const callId = String(data["callId"]);
    const hasEnded = type === "call.finished" && data["queued"] === true;
    if (hasEnded && !this.#ownership.hasLiveOwner) this.#commands.queuedCallEnded(device, callId);
    if (!this.#owned) return;
    if (type === "device.online" || type === "device.offline" || type === "device.tools_changed") {
      this.#devices.changed(device);
      if (type === "device.tools_changed" || type === "device.online") this.#polls.ask(device);
    } else if (type === "voice.started" || type === "voice.ended") {
      const event_type = type === "voice.started" ? "started" : "ended";
      this.#send(topicsOf(slugOf(device)).talk, { event_type });
    } else if (type === "device.firmware") this.#devices.changed(device);
    else if (type === "device.notification") void this.#notify(device, data);
    else if (type === "call.finished" && data["outcome"] === "ok") {
      const tool = String(data["tool"]);
      if (tool === photoTool) void this.#publishPhoto(device, callId);
      // A queued call publishes what it has set, and so does a command.
      else if (!hasEnded && data["principal"] !== this.#token.name && this.#changesState(device, tool))
        this.#polls.askSoon(device);
    }
  }

  #changesState(id: string, tool: string): boolean {
    const entities = [...(this.#devices.get(slugOf(id))?.entities.values() ?? [])];
    return entities.some(({ command }) => command?.verb === "set" && command.tools.includes(tool));
  }

  async #notify(id: string, { method, params }: GatewayEvent["data"]): Promise<void> {
    const name = String(method)
      .replace(/^notifications\//, "")
      .slice(0, maxNameLength);
    if (!(await this.#devices.sends(id, name))) return;
    const text = JSON.stringify(params ?? null);
    const details = text.length <= maxNotificationLength ? { params: params ?? null } : {};
    this.#send(topicsOf(slugOf(id)).notification, { event_type: name, ...details } as JsonObject);
  }

  /** Reads the status and the values of a device, and publishes them. */
  async #read(id: string): Promise<void> {
    const principal = this.#token.principal;
    const { services } = this.#dependencies;
    const record = services.fleet.devices.get(id);
    if (principal === undefined || record?.handle === undefined || !this.#owned) return;
    await untilListed(this.#dependencies.clock, record);
    const slug = slugOf(id);
    if (record.catalogue.find(statusTool) !== undefined) {
      const { result } = await services.calls.call(principal, id, statusTool, {}, { origin });
      const text = textOf(result);
      const status = parseJson(text);
      if (result.isError !== true && isObject(status)) {
        this.#devices.setStatus(id, status);
        await this.#publish(topicsOf(slug).state, text, true);
      }
    }
    // The first list and the first status show which entities the device has.
    this.#devices.changed(id);
    await this.#devices.settled();
    const entities = [...(this.#devices.get(slug)?.entities.values() ?? [])];
    for (const entity of entities)
      if (entity.platform !== "image" && !this.#polls.isTalking(id)) await this.#readValue(id, entity);
  }

  async #readValue(id: string, { key, reader, platform }: Entity): Promise<void> {
    const principal = this.#token.principal;
    if (reader === undefined || principal === undefined) return;
    const { result } = await this.#dependencies.services.calls.call(principal, id, reader, {}, { origin });
    if (result.isError === true) return;
    const value = textOf(result);
    // A state of Home Assistant is a number or a short text.
    if (value.length > maxStateLength || typeof parseJson(value) === "object") return;
    const shown = platform === "switch" ? (/^(true|on|1)$/i.test(value) ? "ON" : "OFF") : value;
    await this.#publish(topicsOf(slugOf(id)).value(key), shown, true);
  }

  async #publishPhoto(id: string, callId: string): Promise<void> {
    const { photos } = this.#dependencies.services;
    const photo = await photos.ofCall(id, callId).catch(() => undefined);
    if (photo !== undefined) this.#sendPicture(topicsOf(slugOf(id)).photo, Buffer.from(photo.data, "base64"));
  }

  #sendPicture(topic: string, bytes: Buffer): void {
    if (this.#owned && bytes.byteLength <= maxPictureBytes)
      this.#broker?.publish(topic, bytes, { qos: 0, retain: false });
  }

  #send(topic: string, message: JsonObject): void {
    if (this.#owned) this.#broker?.publish(topic, JSON.stringify(message), { qos: 1, retain: false });
  }

  async #publish(topic: string, payload: string, retain: boolean): Promise<void> {
    const broker = this.#broker;
    if (broker === undefined || !this.#owned) return;
    await new Promise<void>((resolve) => {
      if (!broker.publish(topic, payload, { qos: 1, retain }, () => resolve())) resolve();
    });
  }
}
