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
  /** The number of the stored photo that a call took. */
  numberOf(device: string, callId: string): number | undefined;
  /** Whether the device has uploaded the picture of this running call. */
  isUploaded(callId: string): boolean;
}

type StoredPhoto = Awaited<ReturnType<PhotoStorage["photo"]>>;

/** Photos of devices that are connected to other nodes. */
interface PhotosOfOtherNodes {
  ofCall(device: string, callId: string): Promise<StoredPhoto>;
}

export class PhotoAccess {
  readonly #storage: PhotoStorage;
  readonly #find: (principal: Principal, reference: string) => DeviceRecord;
  #others: PhotosOfOtherNodes | undefined;

  constructor(storage: PhotoStorage, find: (principal: Principal, reference: string) => DeviceRecord) {
    this.#storage = storage;
    this.#find = find;
  }

  /** In a cluster, the node that holds the device stores its photos. */
  shareWith(others: PhotosOfOtherNodes): void {
    this.#others = others;
  }

  has(device: string, callId: string): boolean {
    return this.#storage.numberOf(device, callId) !== undefined;
  }

  /** The photo that a call took. The caller has checked that the principal may see the call. */
  async ofCall(device: string, callId: string): Promise<StoredPhoto> {
    return (await this.ownOfCall(device, callId)) ?? (await this.#others?.ofCall(device, callId));
  }

  async ownOfCall(device: string, callId: string): Promise<StoredPhoto> {
    const number = this.#storage.numberOf(device, callId);
    return number === undefined ? undefined : await this.#storage.photo(device, number);
  }

  list(principal: Principal, device: string): readonly Photo[] {
    const { id } = this.#find(principal, device);
    requireScope(principal, "read");
    return this.#storage.photosOf(id);
  }

  /** In base64; `undefined` if the photo is not stored. */
  async read(principal: Principal, device: string, number: number): Promise<StoredPhoto> {
    const { id } = this.#find(principal, device);
    requireScope(principal, "read");
    return await this.#storage.photo(id, number);
  }
}
