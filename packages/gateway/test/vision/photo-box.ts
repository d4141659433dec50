/** A photo folder without a server, removed after the test. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { ManualClock } from "../../../../test/manual-clock.ts";
import { Photos, type PhotosSettings } from "../../src/vision/vision.ts";
import { jpeg } from "./pictures.ts";
import { deviceId } from "./vision-site.ts";

export const hour = 3_600_000;

export class PhotoBox {
  readonly clock = new ManualClock();
  readonly data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-photos-"));
  readonly folder = path.join(this.data, "photos");
  readonly faults: string[] = [];
  readonly #open: Photos[] = [];

  constructor() {
    onTestFinished(async () => {
      for (const photos of this.#open) await photos.stop();
      fs.rmSync(this.data, { recursive: true, force: true });
    });
  }

  async start(settings: Partial<PhotosSettings> = {}): Promise<Photos> {
    const { clock, folder, faults } = this;
    const photos = await Photos.open({ folder, clock, onFault: (what) => faults.push(what), ...settings });
    this.#open.push(photos);
    return photos;
  }

  files(): string[] {
    return fs.readdirSync(this.folder).sort();
  }
}

/** Stores one photo of a finished call, and returns its id. */
export async function keep(
  photos: Photos,
  bytes = jpeg(),
  mimeType: "image/jpeg" | "image/png" = "image/jpeg",
) {
  const { token } = photos.openTicket({ deviceId, callId: "call-1" });
  const claim = photos.claim(token, deviceId);
  if (claim.kind !== "granted") throw new TypeError(claim.kind);
  const picture = await photos.accept(claim.ticket, { bytes, mimeType, question: "?" });
  photos.closeTicket(token);
  return picture?.id ?? "";
}
