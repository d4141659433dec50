/** Opens the photos as configured: the folder, the camera for calls, and the upload routes. */
import path from "node:path";
import type { JsonObject } from "@tendon/protocol";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { initializeParams } from "../device/device.ts";
import type { Events } from "../events/events.ts";
import { Photos } from "./photos.ts";
import { VisionProvider } from "./provider.ts";
import { visionRoutes } from "./routes.ts";

export interface VisionDependencies {
  readonly config: Config;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly events: Events;
  readonly log: Logger;
  /** The prefix of tokens from this node. */
  readonly idPrefix: string;
  /** The address that a device uploads to. */
  readonly uploadUrl: () => string;
}

export type OpenedVision = Awaited<ReturnType<typeof openVision>>;

export async function openVision({
  config,
  dataFolder,
  clock,
  events,
  log,
  idPrefix,
  uploadUrl,
}: VisionDependencies) {
  const { provider, keepMs, keepBytes, keepCount } = config.vision;
  const photos = await Photos.open({
    folder: path.join(dataFolder, "photos"),
    clock,
    ttlMs: keepMs,
    maxBytes: keepBytes,
    maxCount: keepCount,
    idPrefix,
    onFault: (what) => log.warn({ what }, "photos"),
  });
  const camera = {
    open(deviceId: string, callId: string) {
      const { token } = photos.openTicket({ deviceId, callId });
      const vision = { url: uploadUrl(), token };
      return { ticket: token, initialize: initializeParams({ ...config.devices.capabilities, vision }) };
    },
    redirect: (vision: JsonObject) => initializeParams({ ...config.devices.capabilities, vision }),
    pictureOf(ticket: string) {
      const picture = photos.pictureOf(ticket);
      if (picture === undefined) return undefined;
      return { data: picture.bytes.toString("base64"), mimeType: picture.mimeType };
    },
    close: (ticket: string) => photos.closeTicket(ticket),
  };
  const access = {
    photosOf: (device: string) => photos.ofDevice(device),
    async photo(device: string, number: number) {
      const known = photos.ofDevice(device).find((photo) => photo.number === number);
      const picture = known === undefined ? undefined : await photos.read(known.id);
      if (picture === undefined) return undefined;
      return { data: picture.bytes.toString("base64"), mimeType: picture.mimeType };
    },
  };
  return {
    photos: access,
    // The operator has configured another vision server.
    camera: Object.hasOwn(config.devices.capabilities, "vision") ? undefined : camera,
    routes: (http: FastifyInstance) =>
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
