import {
  type JsonObject,
  normaliseResult,
  requiresUploadUrl,
  type ToolResult,
  upgradeTool,
} from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import {
  type DeviceRecord,
  FirmwareUpgrades,
  type LocalCall,
  type Sent,
  type SpecialTools,
  upgradeFailed,
  upgradeTimeout,
} from "../fleet/fleet.ts";
import { photoTool } from "./call-context.ts";
import { type Camera, PhotoCalls } from "./photo-calls.ts";
import { type Screen, takeScreenshot } from "./screenshot-calls.ts";

/** Tools that take more than one request: a picture needs a ticket, an upgrade is over when the board is back. */
export class BoardTools implements SpecialTools {
  readonly upgrades: FirmwareUpgrades;
  readonly #photos: PhotoCalls | undefined;
  readonly #screen: Screen;

  /** `camera`: `undefined` if photos go to another server. */
  constructor(clock: Clock, camera: Camera | undefined, screen: Screen) {
    this.#screen = screen;
    this.#photos = camera === undefined ? undefined : new PhotoCalls(camera, clock);
    this.upgrades = new FirmwareUpgrades(clock);
  }

  handles({ kind, catalogue }: DeviceRecord, tool: string): boolean {
    const definition = catalogue.find(tool);
    if (definition !== undefined && requiresUploadUrl(definition)) return true;
    if (kind !== "esp32") return false;
    return tool === upgradeTool || (tool === photoTool && this.#photos !== undefined);
  }

  run(call: LocalCall): Promise<Sent<ToolResult>> {
    if (call.tool === upgradeTool) return this.#upgradeFirmware(call);
    return call.tool === photoTool ? this.#takePhoto(call) : takeScreenshot(this.#screen, call);
  }

  #takePhoto(call: LocalCall): Promise<Sent<ToolResult>> {
    const identity = { callId: call.callId, tool: "initialize" };
    const setUploadTarget = (initialize: JsonObject) =>
      call.session.request("initialize", initialize, { ...call.options(), call: identity });
    const send = () => call.send();
    return this.#photos?.take(call.record.id, call, setUploadTarget, send) ?? send();
  }

  /** [MCP-16] The firmware replies only if the upgrade failed. Otherwise it restarts without a reply. */
  async #upgradeFirmware(call: LocalCall): Promise<Sent<ToolResult>> {
    const { record, session, args, callId } = call;
    const { id: device, firmware: before } = record;
    const identity = { callId, tool: upgradeTool };
    const answer = await session.call(upgradeTool, args, identity, call.options()).catch((error: unknown) => {
      throw upgradeTimeout(error);
    });
    const now = () => ({ online: record.handle !== undefined, firmware: record.firmware });
    const { transport } = session;
    const result = answer.left
      ? await this.upgrades.awaitReturn({ device, before, transport, now }, call.options())
      : upgradeFailed(before, normaliseResult(answer.result));
    return { result, queuedMs: answer.queuedMs };
  }
}
