/**
 * The one pipeline of a call, whatever interface it came through [CALL-1…8]: known device, allowed caller, known tool,
 * valid arguments, connected device, its place in the queue, the result. Each step rejects with its own code, in this
 * order, and every call leaves one row of history. Approvals, fan-out, `device_control`, idempotency and the history are
 * here too.
 */

import { type JsonObject, normaliseResult, type ToolResult, textResult, upgradeTool } from "@tendon/protocol";
import { type Policy, type Principal, type Ruling, requireScope } from "../access/access.ts";
import type { Cancellation } from "../cancellation.ts";
import { isoTime } from "../clock.ts";
import type { DeviceSession, Relay, RequestOptions } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import {
  type DeviceRecord,
  FirmwareUpgrades,
  RemoteSession,
  refuseArguments,
  type Sent,
  upgradeFailed,
  upgradeOverdue,
} from "../fleet/fleet.ts";
import { withDeadline } from "../with-deadline.ts";
import { type Approvals, type Confirm, type Grant, schemaDigest } from "./approvals.ts";
import { requireApproval } from "./call-approval.ts";
import { asReported, isToolError, textOf } from "./call-end.ts";
import { CallTraces } from "./call-traces.ts";
import { CallTurn, photoTool } from "./call-turn.ts";
import { FinishedCalls, type FinishedCallsSettings } from "./finished-calls.ts";
import { type Camera, PhotoCalls } from "./photo-calls.ts";

export { Approvals } from "./approvals.ts";
export { Control } from "./control.ts";
export { FanOut } from "./fan-out.ts";
export { History } from "./history.ts";
export { Idempotency } from "./idempotency.ts";
export { MuteMemory } from "./mute-memory.ts";
export { type Photo, PhotoAccess, type PhotoShelf } from "./photo-access.ts";
export type { Camera } from "./photo-calls.ts";

export interface CallsSettings extends Omit<FinishedCallsSettings, "stories"> {
  /** `undefined` where pictures go to somebody else's server. */
  readonly camera: Camera | undefined;
  readonly node: string;
  readonly policy: Policy;
  readonly approvals: Approvals;
  readonly defaultTimeoutMs: number;
  /** A device has said how it is. */
  readonly statusOf: (record: DeviceRecord, value: JsonObject) => void;
  /** A device has done what a call asked for, whatever door it came through. */
  readonly carriedOut: (device: string, tool: string) => void;
  /** How many calls may wait for one device. */
  readonly queueLimit: number;
}

export interface CallOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: Cancellation | undefined;
  /** Fields that travel beside the call in its envelope; devices ignore them, logs of existing apps do not. */
  readonly envelope?: JsonObject | undefined;
  /** [CTL-5] The tool may be missing from the device's list: it counts as user-only then, and the device decides. */
  readonly unlisted?: boolean | undefined;
  /** The queue of a voice server's calls; see Requests. */
  readonly lane?: "voice" | undefined;
  /** Where a picture taken by this call goes, where that is not here. */
  readonly vision?: JsonObject | undefined;
  /**
   * [APR-7] Asks the person in front of the caller where a rule wants a person's word and does not insist on the
   * queue. Never asked for a user-only tool that the caller's scopes keep shut: its own yes would open it.
   */
  readonly confirm?: Confirm | undefined;
  /** Where another node has begun the call under this id already. */
  readonly callId?: string | undefined;
  /** A person's word for this call and others with it [APR-5]. */
  readonly granted?: Grant | undefined;
  /** Why this call and others with it wait for a person. */
  readonly held?: TendonError | undefined;
  /** For callers that speak MCP themselves, where the device does too [PRC-9]. */
  readonly relay?: Relay | undefined;
}

export interface FinishedReply<Result> {
  readonly callId: string;
  readonly device: string;
  readonly tool: string;
  readonly result: Result;
  readonly queuedMs: number;
  readonly durationMs: number;
}

type Find = (principal: Principal, reference: string) => DeviceRecord;

const statusTool = "self.get_device_status";
const longestListingWaitMs = 10_000;

export class Calls {
  readonly #settings: CallsSettings;
  readonly #find: Find;
  readonly #photos: PhotoCalls | undefined;
  readonly #finished: FinishedCalls;
  readonly stories = new CallTraces();
  readonly upgrades: FirmwareUpgrades;
  #running = 0;
  #draining = false;
  #onIdle: (() => void) | undefined;

  constructor(settings: CallsSettings, find: Find) {
    this.#settings = settings;
    const { camera, clock } = settings;
    this.#photos = camera === undefined ? undefined : new PhotoCalls(camera, clock);
    this.#find = find;
    this.upgrades = new FirmwareUpgrades(clock);
    this.#finished = new FinishedCalls({ ...settings, stories: this.stories });
    settings.events.subscribe((event) => this.stories.hear(event));
  }

  call(
    principal: Principal,
    device: string,
    tool: string,
    args: JsonObject,
    options: CallOptions,
  ): Promise<FinishedReply<ToolResult>> {
    return this.#run(principal, device, tool, args, options, async (record, turn) => {
      requireScope(principal, "call");
      if (record.awaitListing !== undefined) await this.#firstListing(record, turn);
      const definition = record.catalogue.find(tool);
      const unlisted = options.unlisted === true;
      const ruling = this.#settings.policy.judge(principal, record, tool, definition, args, unlisted);
      if (options.held !== undefined) throw options.held;
      const grant =
        ruling?.confirm === undefined
          ? undefined
          : await requireApproval(
              this.#settings,
              ruling,
              { principal, record, tool, definition, args },
              turn,
            );
      record.catalogue.checkArguments(tool, args, turn.argumentText, record.kind);
      if (ruling !== undefined) refuseArguments(ruling.malformed);
      if (grant !== undefined) await this.#useGrant(grant, record, turn);
      return await this.#send(record, tool, args, turn);
    });
  }

  /** What a call would meet before its arguments are looked at, without making it. */
  async foresee(
    principal: Principal,
    device: string,
    tool: string,
    args: JsonObject,
  ): Promise<{ readonly ruling: Ruling | undefined; readonly schema: string }> {
    const record = this.#find(principal, device);
    if (record.awaitListing !== undefined) await this.untilListed(record);
    const definition = record.catalogue.find(tool);
    const ruling = this.#settings.policy.judge(principal, record, tool, definition, args, false);
    return { ruling, schema: schemaDigest(definition) };
  }

  /** Any other method, as it is, for administrators who know what their firmware answers to. */
  request(
    principal: Principal,
    device: string,
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
  ): Promise<FinishedReply<unknown>> {
    return this.#run(principal, device, method, params ?? {}, options, async (record, turn) => {
      requireScope(principal, "admin");
      const args = params ?? {};
      const ruling = this.#settings.policy.judge(principal, record, method, undefined, args, true);
      const asked = { principal, record, tool: method, definition: undefined, args };
      const grant =
        ruling?.confirm === undefined
          ? undefined
          : await requireApproval(this.#settings, ruling, asked, turn);
      if (ruling !== undefined) refuseArguments(ruling.malformed);
      if (grant !== undefined) await this.#useGrant(grant, record, turn);
      const session = sessionOf(record);
      const identity = { callId: turn.callId, tool: method };
      const answer = await session.request(method, params, { ...turn.options(), call: identity });
      return { result: answer.result, queuedMs: answer.queuedMs };
    });
  }

  /** What another node has let through and written down, for a device that is here. */
  sendHere(
    record: DeviceRecord,
    tool: string,
    args: JsonObject,
    options: CallOptions,
  ): Promise<Sent<ToolResult>> {
    this.#refuseWhileDraining();
    if (sessionOf(record) instanceof RemoteSession) throw movedOn();
    return this.#counted(this.#send(record, tool, args, new CallTurn(this.#settings, tool, args, options)));
  }

  async requestHere(
    record: DeviceRecord,
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
  ): Promise<Sent<unknown>> {
    this.#refuseWhileDraining();
    const session = sessionOf(record);
    if (session instanceof RemoteSession) throw movedOn();
    const { result, queuedMs } = await this.#counted(session.request(method, params, options));
    return { result, queuedMs };
  }

  /** Last of all before sending, and not for a device that could not take the call: a grant is good for one. */
  async #useGrant(grant: Grant, record: DeviceRecord, turn: CallTurn): Promise<void> {
    const session = sessionOf(record);
    const { queuedCalls } =
      session instanceof RemoteSession ? await session.look(turn.given.signal) : session;
    if (queuedCalls >= this.#settings.queueLimit) {
      throw new TendonError("queue_full", `${queuedCalls} calls are already waiting for this device`);
    }
    turn.approval = await grant.use();
  }

  #send(record: DeviceRecord, tool: string, args: JsonObject, turn: CallTurn): Promise<Sent<ToolResult>> {
    if (record.session instanceof RemoteSession) return record.session.send(tool, args, turn);
    if (tool === upgradeTool && record.kind === "esp32") return this.#upgradeFirmware(record, args, turn);
    if (tool !== photoTool || record.kind !== "esp32" || this.#photos === undefined)
      return this.#sendPlain(record, tool, args, turn);
    const aim = (initialize: JsonObject) => {
      const call = { callId: turn.callId, tool: "initialize" };
      return sessionOf(record).request("initialize", initialize, { ...turn.options(), call });
    };
    return this.#photos.take(record.id, turn, aim, () => this.#sendPlain(record, photoTool, args, turn));
  }

  async #sendPlain(record: DeviceRecord, tool: string, args: JsonObject, turn: CallTurn) {
    const answer = await sessionOf(record).call(tool, args, { callId: turn.callId, tool }, turn.options());
    const result = answer.left
      ? textResult("done: the device left to carry it out")
      : normaliseResult(answer.result);
    if (tool === statusTool && result.structuredContent !== undefined) {
      this.#settings.statusOf(record, result.structuredContent);
    }
    if (!result.isError) this.#settings.carriedOut(record.id, tool);
    return { result, queuedMs: answer.queuedMs };
  }

  /** [MCP-16] The board's answer says nothing good, and its silence nothing at all. */
  async #upgradeFirmware(record: DeviceRecord, args: JsonObject, turn: CallTurn): Promise<Sent<ToolResult>> {
    const session = sessionOf(record);
    const { id: device, firmware: before } = record;
    const call = { callId: turn.callId, tool: upgradeTool };
    const answer = await session.call(upgradeTool, args, call, turn.options()).catch((error: unknown) => {
      throw upgradeOverdue(error);
    });
    const { transport } = session;
    const now = () => ({ online: record.session !== undefined, firmware: record.firmware });
    const result = answer.left
      ? await this.upgrades.afterLeaving({ device, before, transport, now }, turn.options())
      : upgradeFailed(before, normaliseResult(answer.result));
    return { result, queuedMs: answer.queuedMs };
  }

  /** [CALL-5] Resolves when the device's tools are known, or it is clear that they will not be; says which. */
  async untilListed(
    record: DeviceRecord,
    timeoutMs = longestListingWaitMs,
    signal?: Cancellation,
  ): Promise<"settled" | "timeout"> {
    const listed = record.awaitListing;
    if (listed === undefined) return "settled";
    return (await withDeadline(this.#settings.clock, listed, { timeoutMs, signal })) ?? "settled";
  }

  /** A call that waits for the first list ends like any waiting call: by its deadline or with its connection. */
  async #firstListing(record: DeviceRecord, turn: CallTurn): Promise<void> {
    const { session } = record;
    const { timeoutMs, signal } = turn.options();
    if ((await this.untilListed(record, timeoutMs, signal)) === "timeout") {
      const detail = `the device was still being listed after ${turn.timeoutMs} ms; the call was not sent`;
      throw new TendonError("device_timeout", detail, { phase: "queue", sent: false });
    }
    if (session !== undefined && record.session !== session) {
      const detail = "the device left before its tools were known; the call was not sent";
      throw new TendonError("device_disconnected", detail, { sent: false });
    }
  }

  /** From now on new calls are refused; resolves when the last running one has ended, and been told of. */
  async drain(): Promise<void> {
    this.#draining = true;
    this.upgrades.stop();
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    this.#settings.events.settle();
  }

  #refuseWhileDraining(): void {
    if (this.#draining)
      throw new TendonError("shutting_down", "the gateway is stopping and takes no new calls");
  }

  async #counted<Result>(work: Promise<Result>): Promise<Result> {
    this.#running += 1;
    try {
      return await work;
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#onIdle?.();
    }
  }

  async #run<Result>(
    principal: Principal,
    device: string,
    tool: string,
    args: JsonObject,
    options: CallOptions,
    work: (record: DeviceRecord, turn: CallTurn) => Promise<{ result: Result; queuedMs: number }>,
  ): Promise<FinishedReply<Result>> {
    this.#refuseWhileDraining();
    const record = this.#find(principal, device);
    const turn = new CallTurn(this.#settings, tool, args, options);
    this.#running += 1;
    let outcome = "internal";
    let queuedMs = 0;
    let durationMs: number | undefined;
    let detail: string | undefined;
    let unsent = false;
    try {
      const done = await work(record, turn);
      queuedMs = done.queuedMs;
      outcome = isToolError(done.result) ? "tool_error" : "ok";
      durationMs = rounded(turn.elapsedMs);
      if (tool === upgradeTool) detail = textOf(done.result);
      return {
        callId: turn.callId,
        device: record.id,
        tool,
        result: done.result,
        queuedMs: rounded(queuedMs),
        durationMs,
      };
    } catch (error) {
      const known =
        error instanceof TendonError ? error : new TendonError("internal", "the call failed", {}, error);
      outcome = known.code;
      detail = known.message;
      unsent = known.context["sent"] === false;
      throw asReported(known, turn.callId, record.catalogue.find(tool));
    } finally {
      // What the caller was told is what is written down.
      durationMs ??= rounded(turn.elapsedMs);
      this.#finished.add({
        turn,
        args,
        device: record.id,
        tool,
        principal: principal.name,
        outcome,
        queuedMs: rounded(queuedMs),
        durationMs,
        detail,
        unsent,
      });
      this.#running -= 1;
      if (this.#running === 0) this.#onIdle?.();
    }
  }
}

/** The directory was a moment behind: a call goes from node to node once at most. */
function movedOn(): TendonError {
  return new TendonError("device_offline", "the device is moving to another node", { sent: false });
}

function sessionOf(record: DeviceRecord): DeviceSession {
  if (record.session !== undefined) return record.session;
  const since = record.offlineSince;
  const detail = since === undefined ? "it has not connected yet" : `offline since ${isoTime(since)}`;
  throw new TendonError(
    "device_offline",
    detail,
    since === undefined ? {} : { offlineSince: isoTime(since) },
  );
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
