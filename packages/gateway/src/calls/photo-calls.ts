import type { JsonObject, ToolResult } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import type { OutgoingCall, Sent } from "../fleet/fleet.ts";
import { DeviceLock } from "./device-lock.ts";

/** The camera of a board. Each call has its own ticket, so that a late picture never goes to another caller [CAM-1]. */
export interface Camera {
  open(deviceId: string, callId: string): { readonly ticket: string; readonly initialize: JsonObject };
  /** The parameters of `initialize` that make the board send its next picture to another server. */
  redirect(vision: JsonObject): JsonObject;
  pictureOf(ticket: string): { readonly data: string; readonly mimeType: string } | undefined;
  close(ticket: string): void;
}

type Send = () => Promise<Sent<ToolResult>>;
/** Sends the board the address for its next picture. */
type SetUploadTarget = (initialize: JsonObject) => Promise<unknown>;

/** Takes the photos of a board one at a time: a board stores only one upload address, and so only one ticket. */
export class PhotoCalls {
  readonly #camera: Camera;
  readonly #lock: DeviceLock;

  constructor(camera: Camera, clock: Clock) {
    this.#camera = camera;
    this.#lock = new DeviceLock(clock);
  }

  take(
    device: string,
    call: OutgoingCall,
    setUploadTarget: SetUploadTarget,
    send: Send,
  ): Promise<Sent<ToolResult>> {
    const { vision, callId } = call;
    const photo =
      vision === undefined
        ? () => this.#takeForGateway(device, callId, setUploadTarget, send)
        : () => this.#takeForOtherServer(vision, setUploadTarget, send);
    return this.#lock.run(device, photo, call.options());
  }

  /** [VOI-7] The other server gets the picture, and its reply to the board is the tool's result. */
  async #takeForOtherServer(
    vision: JsonObject,
    setUploadTarget: SetUploadTarget,
    send: Send,
  ): Promise<Sent<ToolResult>> {
    await setUploadTarget(this.#camera.redirect(vision));
    return await send();
  }

  async #takeForGateway(
    device: string,
    callId: string,
    setUploadTarget: SetUploadTarget,
    send: Send,
  ): Promise<Sent<ToolResult>> {
    const { ticket, initialize } = this.#camera.open(device, callId);
    try {
      await setUploadTarget(initialize);
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
