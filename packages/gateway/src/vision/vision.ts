/**
 * Photos that boards take. A call of the camera tool opens a ticket. The board uploads its photo with the ticket to this
 * gateway and returns the reply as the result of its tool. The caller gets the photo; a folder keeps it for an hour. The
 * gateway rejects a photo without a ticket.
 */
export { type OpenedVision, openVision } from "./open-vision.ts";
export { Photos, type PhotosSettings } from "./photos.ts";
export { VisionProvider } from "./provider.ts";
export { type ExplainedPhoto, type RefusedPhoto, visionRoutes } from "./routes.ts";
