/** Commands of Home Assistant: ordinary calls of the token, bounded, and confirmed by the device before they show. */
import { isObject, type JsonObject, type ToolResult } from "@tendon/protocol";
import type { Principal } from "../../access/access.ts";
import { TendonError } from "../../errors.ts";
import type { Services } from "../services.ts";
import type { IncomingPacket } from "./broker-connection.ts";
import { slugOf, topicsOf } from "./discovery.ts";
import { type Entity, photoTool, toolOf } from "./entities.ts";
import type { PublishedDevices } from "./published-devices.ts";
import { pictureOf, textOf } from "./tool-results.ts";

export interface CommandsDependencies {
  readonly calls: Services["calls"];
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
const dayMs = 86_400_000;
const shortestExpiryMs = 1_000;
const longestExpiryMs = 30 * dayMs;
const commandTopic = /^tendon\/ha\/([^/]+)\/(set|press)\/([^/]+)$/;

export class Commands {
  readonly #dependencies: CommandsDependencies;
  readonly #running = new Map<string, number>();
  /** Commands that wait for their device, by call id. */
  readonly #queued = new Map<
    string,
    { readonly entity: Entity; readonly tool: string; readonly payload: string }
  >();
  #commands = 0;

  constructor(dependencies: CommandsDependencies) {
    this.#dependencies = dependencies;
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
    const tool = toolOf(command, payload);
    const args = command.argumentsOf(payload);
    const answer = await calls.callOrQueue(principal, id, tool, args, {
      origin,
      queue: this.#queueOf(entity, packet),
    });
    // The entity shows the new state when the device has confirmed it.
    if ("expiresAt" in answer) this.#queued.set(answer.callId, { entity, tool, payload });
    else await this.#ended(id, entity, tool, payload, answer.result);
  }

  async #ended(id: string, entity: Entity, tool: string, payload: string, result: ToolResult): Promise<void> {
    if (result.isError === true) throw new TendonError("device_error", textOf(result).slice(0, 300));
    // Some firmware answers `false` to a value that it does not know.
    if (entity.command?.verb === "set" && textOf(result) === "false")
      throw new TendonError("device_error", "the device did not accept the value");
    await this.#confirmed(id, entity, tool, payload, result);
  }

  async finished(id: string, callId: string, outcome: unknown): Promise<void> {
    const waited = this.#queued.get(callId);
    if (waited === undefined) return;
    this.#queued.delete(callId);
    const { entity, tool, payload } = waited;
    if (outcome === "ok") await this.#confirmed(id, entity, tool, payload, { content: [], isError: false });
    else if (outcome !== "superseded")
      this.#reportProblem(
        slugOf(id),
        entity,
        new TendonError("device_offline", `the queued command ended: ${String(outcome)}`),
      );
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
    payload: string,
    result: ToolResult,
  ): Promise<void> {
    const picture = pictureOf(result);
    if (picture !== undefined && tool !== photoTool) {
      this.#dependencies.devices.returnsPicture(id, tool);
      this.#dependencies.sendPicture(topicsOf(slugOf(id)).value(`${entity.key}_picture`), picture);
    }
    if (entity.command?.verb !== "set") return;
    const isTalking = this.#dependencies.isTalking(id);
    if (entity.state === "status" && isTalking) await this.#publishInStatus(id, entity, payload);
    else if (entity.state === "status") await this.#dependencies.readStatus(id);
    else if (entity.reader === undefined || isTalking)
      await this.#dependencies.publish(topicsOf(slugOf(id)).value(entity.key), payload, true);
    else await this.#dependencies.readValue(id, entity);
  }

  /** During a conversation: the last status with the confirmed value. The whole status is read after it. */
  async #publishInStatus(id: string, { command, path }: Entity, payload: string): Promise<void> {
    const { devices, publish } = this.#dependencies;
    const status = devices.statusOf(id);
    if (status === undefined || path === undefined || command === undefined) return;
    const [area, field] = path;
    const part = isObject(status[area]) ? status[area] : {};
    const [value] = Object.values(command.argumentsOf(payload));
    const changed = { ...status, [area]: { ...part, [field]: value } } as JsonObject;
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
