/** Opens photos and screenshots as configured: the folder, camera and screen for calls, and the upload routes. */
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
import { snapshotPath, visionRoutes } from "./routes.ts";
import { Snapshots } from "./snapshots.ts";

export interface VisionDependencies {
  readonly config: Config;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly events: Events;
  readonly log: Logger;
  /** The prefix of tokens from this node. */
  readonly idPrefix: string;
  /** The gateway's address for devices. */
  readonly address: () => string;
  /** Why a device cannot upload to this address. */
  readonly uploadProblem: (
    url: string,
    device: { readonly kind: string; readonly transport: string },
  ) => string | undefined;
}

export type OpenedVision = Awaited<ReturnType<typeof openVision>>;

export async function openVision({
  config,
  dataFolder,
  clock,
  events,
  log,
  idPrefix,
  address,
  uploadProblem,
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
      const vision = { url: `${address()}/vision/explain`, token };
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
  const snapshots = new Snapshots(clock, idPrefix);
  const screen = {
    open(deviceId: string, callId: string) {
      const ticket = snapshots.openTicket({ deviceId, callId });
      return { ticket, address: address(), url: `${address()}${snapshotPath}${ticket}` };
    },
    uploadProblem,
    pictureOf(ticket: string) {
      const picture = snapshots.pictureOf(ticket);
      if (picture === undefined) return undefined;
      return { data: picture.bytes.toString("base64"), mimeType: picture.mimeType };
    },
    failureOf: (ticket: string) => snapshots.failureOf(ticket),
    close: (ticket: string) => snapshots.closeTicket(ticket),
  };
  const access = {
    photosOf: (device: string) => photos.ofDevice(device),
    numberOf: (device: string, callId: string) =>
      photos.ofDevice(device).find((photo) => photo.callId === callId)?.number,
    isUploaded: (callId: string) => photos.isUploaded(callId),
    async photo(device: string, number: number) {
      const known = photos.ofDevice(device).find((photo) => photo.number === number);
      const picture = known === undefined ? undefined : await photos.read(known.id);
      if (picture === undefined) return undefined;
      return { data: picture.bytes.toString("base64"), mimeType: picture.mimeType };
    },
  };
  return {
    photos: access,
    forgetPhotos: (device: string) => photos.forget(device),
    // The operator has configured another vision server.
    camera: Object.hasOwn(config.devices.capabilities, "vision") ? undefined : camera,
    screen,
    routes: (http: FastifyInstance) =>
      visionRoutes(http, {
        clock,
        photos,
        snapshots,
        ...(provider === undefined ? {} : { provider: new VisionProvider(provider, clock) }),
        onPhoto: (photo) => events.photoReceived(photo),
        onRefused: (why) => events.photoRefused(why),
      }),
    async stop() {
      snapshots.stop();
      await photos.stop();
    },
  };
}
