/**
 * Sends calls to devices of this node. Most tools are one request. A photo needs a ticket. A firmware upgrade has
 * succeeded when the device reconnects.
 */
import { type JsonObject, normaliseResult, type ToolResult, textResult, upgradeTool } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import type { DeviceSession } from "../device/device.ts";
import {
  type CallRunner,
  type DeviceRecord,
  FirmwareUpgrades,
  type OutgoingCall,
  type Sent,
  upgradeFailed,
  upgradeTimeout,
} from "../fleet/fleet.ts";
import { photoTool } from "./call-context.ts";
import { type Camera, PhotoCalls } from "./photo-calls.ts";

export interface DispatchDependencies {
  readonly clock: Clock;
  /** `undefined` if photos go to another server. */
  readonly camera: Camera | undefined;
  /** A device has reported its status. */
  readonly onStatus: (record: DeviceRecord, value: JsonObject) => void;
  /** Called after each call without an error, from every interface. */
  readonly onSuccess: (device: string, tool: string) => void;
}

const statusTool = "self.get_device_status";

export class Dispatch implements CallRunner {
  readonly upgrades: FirmwareUpgrades;
  readonly #dependencies: DispatchDependencies;
  readonly #photos: PhotoCalls | undefined;

  constructor(dependencies: DispatchDependencies) {
    const { camera, clock } = dependencies;
    this.#dependencies = dependencies;
    this.#photos = camera === undefined ? undefined : new PhotoCalls(camera, clock);
    this.upgrades = new FirmwareUpgrades(clock);
  }

  send(
    record: DeviceRecord,
    session: DeviceSession,
    tool: string,
    args: JsonObject,
    call: OutgoingCall,
  ): Promise<Sent<ToolResult>> {
    const send = () => this.#send(record, session, tool, args, call);
    if (record.kind !== "esp32") return send();
    if (tool === upgradeTool) return this.#upgradeFirmware(record, session, args, call);
    if (tool !== photoTool || this.#photos === undefined) return send();
    const identity = { callId: call.callId, tool: "initialize" };
    const setUploadTarget = (initialize: JsonObject) =>
      session.request("initialize", initialize, { ...call.options(), call: identity });
    return this.#photos.take(record.id, call, setUploadTarget, send);
  }

  async #send(
    record: DeviceRecord,
    session: DeviceSession,
    tool: string,
    args: JsonObject,
    call: OutgoingCall,
  ): Promise<Sent<ToolResult>> {
    const { onStatus, onSuccess } = this.#dependencies;
    const identity = { callId: call.callId, tool };
    const { result: answer, left, queuedMs } = await session.call(tool, args, identity, call.options());
    const result = left ? textResult("done: the device disconnected to run it") : normaliseResult(answer);
    if (tool === statusTool && result.structuredContent !== undefined)
      onStatus(record, result.structuredContent);
    if (!result.isError) onSuccess(record.id, tool);
    return { result, queuedMs };
  }

  /** [MCP-16] The firmware replies only if the upgrade failed. Otherwise it restarts without a reply. */
  async #upgradeFirmware(
    record: DeviceRecord,
    session: DeviceSession,
    args: JsonObject,
    call: OutgoingCall,
  ): Promise<Sent<ToolResult>> {
    const { id: device, firmware: before } = record;
    const { transport } = session;
    const identity = { callId: call.callId, tool: upgradeTool };
    const answer = await session.call(upgradeTool, args, identity, call.options()).catch((error: unknown) => {
      throw upgradeTimeout(error);
    });
    const now = () => ({ online: record.handle !== undefined, firmware: record.firmware });
    const result = answer.left
      ? await this.upgrades.awaitReturn({ device, before, transport, now }, call.options())
      : upgradeFailed(before, normaliseResult(answer.result));
    return { result, queuedMs: answer.queuedMs };
  }
}
