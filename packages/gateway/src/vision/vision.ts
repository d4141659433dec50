/**
 * Pictures that boards take. A call of the camera opens a ticket; the board is given the ticket and this gateway's
 * address, uploads what it sees, and reads the reply out as the answer of its tool. The picture itself stays with the
 * ticket for whoever asked, and in a folder for an hour. A picture without a ticket reaches nobody.
 */
export { Photos, type PhotosSettings } from "./photos.ts";
export { VisionProvider } from "./provider.ts";
export { type ExplainedPhoto, type RefusedPhoto, visionRoutes } from "./routes.ts";
