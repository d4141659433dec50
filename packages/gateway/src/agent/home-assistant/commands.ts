/** Commands of Home Assistant: ordinary calls of the token, bounded, and confirmed by the device before they show. */
import { isObject, type JsonObject } from "@tendon/protocol";
import type { Principal } from "../../access/access.ts";
import { queuedCallDetails, queuedCallEnding } from "../../calls/calls.ts";
import { TendonError } from "../../errors.ts";
import type { Services } from "../services.ts";
import type { IncomingPacket } from "./broker-connection.ts";
import { slugOf, topicsOf } from "./discovery.ts";
import type { Entity } from "./entities.ts";
import type { PublishedDevices } from "./published-devices.ts";
import { photoTool, pictureKey } from "./tool-entities.ts";
import { type Answer, pictureOf, textOf } from "./tool-results.ts";

export interface CommandsDependencies {
  readonly calls: Services["calls"];
  readonly queue: Pick<Services["queue"], "find">;
  readonly devices: PublishedDevices;
  /** Whether commands wait for devices that are away. */
  readonly queues: boolean;
  readonly principal: () => Principal | undefined;
  readonly spend: (principal: Principal) => void;
  /** Logs the code of a command that was not carried out. */
  readonly report: (code: string) => void;
  readonly publish: (topic: string, payload: string, retain: boolean) => Promise<void>;
  readonly send: (topic: string, message: JsonObject) => void;
  readonly sendPicture: (topic: string, bytes: Buffer) => void;
  /** Nothing is read from a device during a voice conversation. */
  readonly isTalking: (id: string) => boolean;
  readonly readStatus: (id: string) => Promise<void>;
  readonly readValue: (id: string, entity: Entity) => Promise<void>;
}

/** As the history shows it. */
export const origin = { via: "mqtt" as const, client: "Home Assistant" };
const maxPayloadBytes = 4_096;
const maxCommands = 1_000;
const maxCommandsPerDevice = 32;
/** Queued calls whose end is not published yet, because the broker is away. */
const maxUnpublished = 10_000;
const dayMs = 86_400_000;
const shortestExpiryMs = 1_000;
const longestExpiryMs = 30 * dayMs;
const commandTopic = /^tendon\/ha\/([^/]+)\/(set|press)\/([^/]+)$/;

export class Commands {
  readonly #dependencies: CommandsDependencies;
  readonly #running = new Map<string, number>();
  /** Queued calls that have ended and are not published yet: the device of each. */
  readonly #ended = new Map<string, string>();
  #publishing: Promise<void> | undefined;
  #commands = 0;

  constructor(dependencies: CommandsDependencies) {
    this.#dependencies = dependencies;
  }

  isCommand(topic: string): boolean {
    return commandTopic.test(topic);
  }

  async run(topic: string, payload: Buffer, packet: IncomingPacket): Promise<void> {
    const [, slug = "", verb, key = ""] = commandTopic.exec(topic) ?? [];
    const device = this.#dependencies.devices.get(slug);
    const entity = device?.entities.get(key);
    const principal = this.#dependencies.principal();
    const { report } = this.#dependencies;
    if (device === undefined || entity === undefined || entity.command?.verb !== verb || !principal) {
      report("unknown");
      return;
    }
    const { id } = device;
    const running = this.#running.get(id) ?? 0;
    if (this.#commands >= maxCommands || running >= maxCommandsPerDevice) {
      report("too_many");
      return;
    }
    this.#commands += 1;
    this.#running.set(id, running + 1);
    try {
      if (payload.byteLength > maxPayloadBytes)
        throw new TendonError("payload_too_large", `a command has at most ${maxPayloadBytes} bytes`);
      this.#dependencies.spend(principal);
      await this.#call(principal, id, entity, payload.toString(), packet);
    } catch (error) {
      this.#reportProblem(slug, entity, error);
    } finally {
      this.#commands -= 1;
      const left = (this.#running.get(id) ?? 1) - 1;
      if (left === 0) this.#running.delete(id);
      else this.#running.set(id, left);
    }
  }

  async #call(
    principal: Principal,
    id: string,
    entity: Entity,
    payload: string,
    packet: IncomingPacket,
  ): Promise<void> {
    const { calls } = this.#dependencies;
    const { command } = entity;
    if (command === undefined) return;
    const { tool, args } = command.callOf(payload);
    const queue = this.#queueOf(entity, packet);
    const answer = await calls.callOrQueue(principal, id, tool, args, { origin, queue });
    // A queued command shows when its call has ended.
    if (!("expiresAt" in answer)) await this.#answered(id, entity, tool, args, answer.result);
  }

  async #answered(id: string, entity: Entity, tool: string, args: JsonObject, result: Answer) {
    if (result.isError === true) throw new TendonError("device_error", textOf(result).slice(0, 300));
    // Some firmware answers `false` to a value that it does not know.
    if (entity.command?.verb === "set" && textOf(result) === "false")
      throw new TendonError("device_error", "the device did not accept the value");
    await this.#confirmed(id, entity, tool, args, result);
  }

  /**
   * A queued call has ended, on any node, also one of an earlier run. What it has set is published, also for other clients;
   * a failure only if Home Assistant asked.
   */
  queuedCallEnded(id: string, callId: string): void {
    this.#ended.set(callId, id);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > maxUnpublished && oldest !== undefined) this.#ended.delete(oldest);
    void this.publishEnded();
  }

  /** Another gateway publishes them. */
  forgetEnded(): void {
    this.#ended.clear();
  }

  /** Publishes the ends of queued calls whose devices are published by now. */
  publishEnded(): Promise<void> {
    this.#publishing ??= this.#publishEnded().finally(() => {
      this.#publishing = undefined;
    });
    return this.#publishing;
  }

  async #publishEnded(): Promise<void> {
    for (const [callId, id] of this.#ended) {
      const entities = this.#dependencies.devices.get(slugOf(id))?.entities;
      if (entities === undefined) continue;
      this.#ended.delete(callId);
      try {
        await this.#publishEnd(id, callId, entities);
      } catch (error) {
        if (!(error instanceof TendonError) || error.code !== "storage_unavailable") continue;
        // The next attempt reads it.
        this.#ended.set(callId, id);
        return;
      }
    }
  }

  async #publishEnd(id: string, callId: string, entities: ReadonlyMap<string, Entity>): Promise<void> {
    const call = await this.#dependencies.queue.find(callId);
    const entity = call && [...entities.values()].find(({ command }) => command?.tools.includes(call.tool));
    if (call === undefined || entity === undefined || call.outcome === "superseded") return;
    const { arguments: args, origin: asked } = queuedCallDetails(call.details);
    const { answer, detail } = queuedCallEnding(call.ending);
    try {
      if (call.outcome !== "ok" && call.outcome !== "tool_error")
        throw new TendonError("device_offline", `the queued command ended: ${detail ?? call.outcome}`);
      const result: Answer = { content: answer?.content ?? [], isError: call.outcome !== "ok" };
      await this.#answered(id, entity, call.tool, args, result);
    } catch (error) {
      if (asked?.client === origin.client) this.#reportProblem(slugOf(id), entity, error);
    }
  }

  /** For devices that are away: Home Assistant's expiry of the command, or a day. */
  #queueOf({ key }: Entity, { properties }: IncomingPacket) {
    if (!this.#dependencies.queues) return undefined;
    const { messageExpiryInterval } = properties ?? {};
    const expiresInMs = messageExpiryInterval === undefined ? dayMs : messageExpiryInterval * 1_000;
    return {
      expiresInMs: Math.min(Math.max(expiresInMs, shortestExpiryMs), longestExpiryMs),
      supersedeKey: `home-assistant ${key}`.slice(0, 64),
    };
  }

  /** The device has confirmed the command: its state is published now. */
  async #confirmed(
    id: string,
    entity: Entity,
    tool: string,
    args: JsonObject,
    result: Answer,
  ): Promise<void> {
    const picture = pictureOf(result);
    if (picture !== undefined && tool !== photoTool) {
      const key = pictureKey(entity.key);
      this.#dependencies.devices.returnsPicture(id, key);
      this.#dependencies.sendPicture(topicsOf(slugOf(id)).value(key), picture);
    }
    if (entity.command?.verb !== "set") return;
    const isTalking = this.#dependencies.isTalking(id);
    const value = entity.command.payloadOf(tool, args);
    if (entity.state === "status" && isTalking) await this.#publishInStatus(id, entity, args);
    else if (entity.state === "status") await this.#dependencies.readStatus(id);
    else if (entity.reader !== undefined && !isTalking) await this.#dependencies.readValue(id, entity);
    else if (value !== undefined)
      await this.#dependencies.publish(topicsOf(slugOf(id)).value(entity.key), value, true);
  }

  /** During a conversation: the last status with the confirmed value. The whole status is read after it. */
  async #publishInStatus(id: string, { path }: Entity, args: JsonObject): Promise<void> {
    const { devices, publish } = this.#dependencies;
    const status = devices.statusOf(id);
    if (status === undefined || path === undefined) return;
    const [area, field] = path;
    const part = isObject(status[area]) ? status[area] : {};
    const [value = null] = Object.values(args);
    const changed: JsonObject = { ...status, [area]: { ...part, [field]: value } };
    devices.setStatus(id, changed);
    await publish(topicsOf(slugOf(id)).state, JSON.stringify(changed), true);
  }

  #reportProblem(slug: string, entity: Entity, error: unknown): void {
    const { report } = this.#dependencies;
    const { code, message, context } =
      error instanceof TendonError ? error : new TendonError("internal", "the command failed", {}, error);
    report(code);
    const isApproval = code === "approval_required";
    this.#dependencies.send(topicsOf(slug).problem, {
      event_type: isApproval ? "approval_required" : "failed",
      entity: entity.key,
      code,
      detail: message,
      ...(isApproval ? { approval_id: String(context["approvalId"] ?? "") } : {}),
    });
  }
}
