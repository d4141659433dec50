/** The camera's half of the composition: where pictures are kept, what a call needs of them, and the upload's routes. */
import path from "node:path";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import type { Camera, PhotoShelf } from "../calls/calls.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { initializeParams } from "../device/device.ts";
import type { Events } from "../events/events.ts";
import { Photos, VisionProvider, visionRoutes } from "../vision/vision.ts";

export interface VisionNeeds {
  readonly config: Config;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly events: Events;
  readonly log: Logger;
  /** What ids given out here begin with. */
  readonly mark: string;
  /** The address a device uploads to. */
  readonly uploadUrl: () => string;
}

export interface VisionLink {
  /** `undefined` where an operator has a vision server of their own: it is left in peace. */
  readonly camera: Camera | undefined;
  readonly shelf: PhotoShelf;
  routes(http: FastifyInstance): Promise<void>;
  stop(): Promise<void> | void;
}

export async function openVision({
  config,
  dataFolder,
  clock,
  events,
  log,
  mark,
  uploadUrl,
}: VisionNeeds): Promise<VisionLink> {
  const { provider, keepMs, keepBytes, keepCount } = config.vision;
  const photos = await Photos.open({
    folder: path.join(dataFolder, "photos"),
    clock,
    ttlMs: keepMs,
    maxBytes: keepBytes,
    maxCount: keepCount,
    mark,
    onFault: (what) => log.warn({ what }, "photos"),
  });
  const camera: Camera = {
    open(deviceId, callId) {
      const { token } = photos.openTicket({ deviceId, callId });
      const vision = { url: uploadUrl(), token };
      return { ticket: token, initialize: initializeParams({ ...config.devices.capabilities, vision }) };
    },
    elsewhere: (vision) => initializeParams({ ...config.devices.capabilities, vision }),
    pictureOf(ticket) {
      const picture = photos.pictureOf(ticket);
      if (picture === undefined) return undefined;
      return { data: picture.bytes.toString("base64"), mimeType: picture.mimeType };
    },
    close: (ticket) => photos.closeTicket(ticket),
  };
  const shelf: PhotoShelf = {
    photosOf: (device) => photos.of(device),
    async photo(device, number) {
      const known = photos.of(device).find((photo) => photo.number === number);
      const picture = known === undefined ? undefined : await photos.read(known.id);
      if (picture === undefined) return undefined;
      return { data: picture.bytes.toString("base64"), mimeType: picture.mimeType };
    },
  };
  return {
    shelf,
    camera: Object.hasOwn(config.devices.capabilities, "vision") ? undefined : camera,
    routes: (http) =>
      visionRoutes(http, {
        clock,
        photos,
        ...(provider === undefined ? {} : { provider: new VisionProvider(provider, clock) }),
        onPhoto: (photo) => events.photoReceived(photo),
        onRefused: (why) => events.photoRefused(why),
      }),
    stop: () => photos.stop(),
  };
}
