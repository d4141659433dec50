import { createHash } from "node:crypto";
import { visionLimits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { PhotoFolder } from "./photo-folder.ts";
import type { PictureType } from "./picture-format.ts";
import { type Claim, type Ticket, type TicketHolder, Tickets } from "./tickets.ts";

/** A picture that was uploaded for a call. */
export interface Picture {
  readonly id: string;
  readonly mimeType: PictureType;
  readonly bytes: Buffer;
  /** In hexadecimal. */
  readonly sha256: string;
  readonly question: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface PhotosSettings {
  /** Created if it is missing. Files with other names are never touched. */
  readonly folder: string;
  readonly clock: Clock;
  /** How long a picture is kept; an hour by default. */
  readonly ttlMs?: number | undefined;
  /** The maximum total size; 256 MiB by default. */
  readonly maxBytes?: number | undefined;
  /** The maximum number; 1,000 by default. */
  readonly maxCount?: number | undefined;
  /** The prefix of tickets. */
  readonly idPrefix?: string | undefined;
  readonly onFault?: ((what: string) => void) | undefined;
}

const defaultTtlMs = 3_600_000;
const defaultBytes = 256 * 1024 * 1024;
const defaultCount = 1_000;

export class Photos {
  readonly #clock: Clock;
  readonly #tickets: Tickets<Picture>;
  readonly #folder: PhotoFolder;
  readonly #recent = new RecentPhotos();

  private constructor(clock: Clock, folder: PhotoFolder, idPrefix: string) {
    this.#clock = clock;
    this.#tickets = new Tickets(clock, idPrefix);
    this.#folder = folder;
  }

  static async open(settings: PhotosSettings): Promise<Photos> {
    const { folder, clock, ttlMs, maxBytes, maxCount, onFault } = settings;
    const photoFolder = await PhotoFolder.open({
      folder,
      clock,
      ttlMs: ttlMs ?? defaultTtlMs,
      maxBytes: maxBytes ?? defaultBytes,
      maxCount: maxCount ?? defaultCount,
      onFault: onFault ?? (() => undefined),
    });
    return new Photos(clock, photoFolder, settings.idPrefix ?? "");
  }

  /** Called before the camera call is sent. Throws a TendonError if too many tickets are open. */
  openTicket(holder: TicketHolder): { readonly token: string } {
    return { token: this.#tickets.open(holder) };
  }

  /** Called when the call has ended, with any outcome. */
  closeTicket(token: string): void {
    this.#tickets.close(token);
  }

  /** The picture for this ticket, while the ticket is open. It is available before the device gets a reply. */
  pictureOf(token: string): Picture | undefined {
    return this.#tickets.contentOf(token);
  }

  /** Whether the picture of this running call has arrived. */
  isUploaded(callId: string): boolean {
    return this.#tickets.isDelivered(callId);
  }

  /** A stored picture by its id. */
  async read(id: string): Promise<{ readonly mimeType: PictureType; readonly bytes: Buffer } | undefined> {
    return await this.#folder.read(id);
  }

  /** The stored pictures that a device uploaded since the start, oldest first. */
  ofDevice(deviceId: string): readonly RecentPhoto[] {
    return this.#recent.ofDevice(deviceId).filter(({ id }) => this.#folder.has(id));
  }

  /** Deletes the pictures that a device uploaded since the start. Older ones expire within the hour. */
  async forget(deviceId: string): Promise<void> {
    const ids = this.#recent.ofDevice(deviceId).map(({ id }) => id);
    this.#recent.forget(deviceId);
    await this.#folder.remove(ids);
  }

  claim(token: string, deviceId: string): Claim<Picture> {
    return this.#tickets.claim(token, deviceId);
  }

  /** Delivers the picture to its call and stores a copy. `undefined` if the call has ended. */
  async accept(
    ticket: Ticket<Picture>,
    upload: { readonly bytes: Buffer; readonly mimeType: PictureType; readonly question: string },
  ): Promise<Picture | undefined> {
    if (ticket.state.kind !== "used") return undefined;
    const at = this.#clock.now();
    const { id, written } = this.#folder.add(upload.bytes, upload.mimeType, at);
    const sha256 = createHash("sha256").update(upload.bytes).digest("hex");
    const picture = { id, ...upload, sha256, at };
    this.#tickets.deliver(ticket, picture);
    const { deviceId, callId } = ticket;
    this.#recent.add(deviceId, { id, callId, at, mimeType: upload.mimeType });
    await written;
    return picture;
  }

  /** Resolves when the running cleanup has finished. */
  async settled(): Promise<void> {
    await this.#folder.settled();
  }

  async stop(): Promise<void> {
    this.#tickets.closeAll();
    await this.#folder.stop();
  }
}

export interface RecentPhoto {
  /** Numbers the photos of a device from 1. */
  readonly number: number;
  readonly id: string;
  readonly callId: string;
  readonly at: number;
  readonly mimeType: PictureType;
}

/** The stored pictures by device, newest last. Their contents are in the folder. */
class RecentPhotos {
  readonly #byDevice = new Map<string, RecentPhoto[]>();

  add(device: string, photo: Omit<RecentPhoto, "number">): void {
    const photos = this.#byDevice.get(device) ?? [];
    this.#byDevice.set(device, photos);
    photos.push({ number: (photos.at(-1)?.number ?? 0) + 1, ...photo });
    if (photos.length > visionLimits.photosListed.max) photos.shift();
  }

  ofDevice(device: string): readonly RecentPhoto[] {
    return this.#byDevice.get(device) ?? [];
  }

  forget(device: string): void {
    this.#byDevice.delete(device);
  }
}
