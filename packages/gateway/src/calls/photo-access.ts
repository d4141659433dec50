/** The recent photos of the devices that a principal may see. */
import { type Principal, requireScope } from "../access/access.ts";
import type { DeviceRecord } from "../fleet/fleet.ts";

export interface Photo {
  /** Counts a device's photos from 1 in each run of the gateway. */
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly mimeType: string;
}

/** Implemented by the vision module. */
export interface PhotoStorage {
  photosOf(device: string): readonly Photo[];
  photo(
    device: string,
    number: number,
  ): Promise<{ readonly data: string; readonly mimeType: string } | undefined>;
}

export class PhotoAccess {
  readonly #storage: PhotoStorage;
  readonly #find: (principal: Principal, reference: string) => DeviceRecord;

  constructor(storage: PhotoStorage, find: (principal: Principal, reference: string) => DeviceRecord) {
    this.#storage = storage;
    this.#find = find;
  }

  list(principal: Principal, device: string): readonly Photo[] {
    const { id } = this.#find(principal, device);
    requireScope(principal, "read");
    return this.#storage.photosOf(id);
  }

  /** In base64; `undefined` if the photo is not stored. */
  async read(
    principal: Principal,
    device: string,
    number: number,
  ): Promise<{ readonly data: string; readonly mimeType: string } | undefined> {
    const { id } = this.#find(principal, device);
    requireScope(principal, "read");
    return await this.#storage.photo(id, number);
  }
}
