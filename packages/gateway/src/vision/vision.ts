/**
 * Photos that boards take, and screenshots. A call of the camera tool opens a ticket. The board uploads its photo with the
 * ticket to this gateway and returns the reply as the result of its tool. The caller gets the photo; a folder keeps it for
 * an hour. A screenshot has a ticket too and is not stored. The gateway rejects a picture without a ticket.
 */
export { type OpenedVision, openVision } from "./open-vision.ts";
export { Photos, type PhotosSettings } from "./photos.ts";
export { VisionProvider } from "./provider.ts";
export { type ExplainedPhoto, type RefusedPhoto, visionRoutes } from "./routes.ts";
export { Snapshots } from "./snapshots.ts";
