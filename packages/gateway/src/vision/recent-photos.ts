import { visionLimits } from "@tendon/protocol";
import type { PictureType } from "./picture-format.ts";

export interface RecentPhoto {
  /** Counts the photos of a device from 1. */
  readonly number: number;
  readonly id: string;
  readonly at: number;
  readonly mimeType: PictureType;
}

/** Which of the kept pictures are whose, newest last; the pictures themselves are in the folder. */
export class RecentPhotos {
  readonly #byDevice = new Map<string, RecentPhoto[]>();

  add(device: string, photo: Omit<RecentPhoto, "number">): void {
    const photos = this.#byDevice.get(device) ?? [];
    this.#byDevice.set(device, photos);
    photos.push({ number: (photos.at(-1)?.number ?? 0) + 1, ...photo });
    if (photos.length > visionLimits.photosListed.max) photos.shift();
  }

  of(device: string): readonly RecentPhoto[] {
    return this.#byDevice.get(device) ?? [];
  }
}
