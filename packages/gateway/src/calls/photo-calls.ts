import type { JsonObject, ToolResult } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import type { OutgoingCall, Sent } from "../fleet/fleet.ts";
import { DeviceLock } from "./device-lock.ts";

/** The camera of a board: each call has a ticket of its own, so that a late picture reaches nobody else [CAM-1]. */
export interface Camera {
  open(deviceId: string, callId: string): { readonly ticket: string; readonly initialize: JsonObject };
  /** What the board is told, so that its next picture goes to somebody else. */
  elsewhere(vision: JsonObject): JsonObject;
  pictureOf(ticket: string): { readonly data: string; readonly mimeType: string } | undefined;
  close(ticket: string): void;
}

type Send = () => Promise<Sent<ToolResult>>;
/** Tells the board where its next picture goes. */
type Aim = (initialize: JsonObject) => Promise<unknown>;

/** Photos of a board, one after the other: it keeps one address, and a second ticket would take the first's picture. */
export class PhotoCalls {
  readonly #camera: Camera;
  readonly #turns: DeviceLock;

  constructor(camera: Camera, clock: Clock) {
    this.#camera = camera;
    this.#turns = new DeviceLock(clock);
  }

  take(device: string, call: OutgoingCall, aim: Aim, send: Send): Promise<Sent<ToolResult>> {
    const { vision, callId } = call;
    const photo =
      vision === undefined
        ? () => this.#takeHere(device, callId, aim, send)
        : () => this.#takeElsewhere(vision, aim, send);
    return this.#turns.run(device, photo, call.options());
  }

  /** [VOI-7] The picture is its receiver's business; what the receiver answered is the tool's answer. */
  async #takeElsewhere(vision: JsonObject, aim: Aim, send: Send): Promise<Sent<ToolResult>> {
    await aim(this.#camera.elsewhere(vision));
    return await send();
  }

  async #takeHere(device: string, callId: string, aim: Aim, send: Send): Promise<Sent<ToolResult>> {
    const { ticket, initialize } = this.#camera.open(device, callId);
    try {
      await aim(initialize);
      const done = await send();
      const picture = this.#camera.pictureOf(ticket);
      if (picture === undefined) return done;
      const content = [...done.result.content, { type: "image" as const, ...picture }];
      return { ...done, result: { ...done.result, content } };
    } finally {
      this.#camera.close(ticket);
    }
  }
}
