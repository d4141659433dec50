/** The photos that devices took lately, for those who may see the devices. */
import { type Principal, requireScope } from "../access/access.ts";
import type { DeviceRecord } from "../fleet/fleet.ts";

export interface Photo {
  /** Counts a device's photos from 1, anew in every run. */
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly mimeType: string;
}

/** Where photos are kept; handed in. */
export interface PhotoShelf {
  photosOf(device: string): readonly Photo[];
  photo(
    device: string,
    number: number,
  ): Promise<{ readonly data: string; readonly mimeType: string } | undefined>;
}

export class PhotoAccess {
  readonly #shelf: PhotoShelf;
  readonly #find: (principal: Principal, reference: string) => DeviceRecord;

  constructor(shelf: PhotoShelf, find: (principal: Principal, reference: string) => DeviceRecord) {
    this.#shelf = shelf;
    this.#find = find;
  }

  list(principal: Principal, device: string): readonly Photo[] {
    const { id } = this.#find(principal, device);
    requireScope(principal, "read");
    return this.#shelf.photosOf(id);
  }

  /** In base64; `undefined` when it is no longer kept, or never was. */
  async read(
    principal: Principal,
    device: string,
    number: number,
  ): Promise<{ readonly data: string; readonly mimeType: string } | undefined> {
    const { id } = this.#find(principal, device);
    requireScope(principal, "read");
    return await this.#shelf.photo(id, number);
  }
}
