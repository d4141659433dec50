import { createHash } from "node:crypto";
import { visionLimits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { PhotoFolder } from "./photo-folder.ts";
import type { PictureType } from "./picture-format.ts";
import { type Claim, type Ticket, type TicketHolder, Tickets } from "./tickets.ts";

/** A picture that came for a call. */
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
  /** Made if it is missing; only files with names of our making are ever touched. */
  readonly folder: string;
  readonly clock: Clock;
  /** How long a picture is kept; an hour. */
  readonly ttlMs?: number | undefined;
  /** How much all of them take; 256 MiB. */
  readonly maxBytes?: number | undefined;
  /** How many there are; 1,000. */
  readonly maxCount?: number | undefined;
  /** What tickets begin with. */
  readonly mark?: string | undefined;
  readonly onFault?: ((what: string) => void) | undefined;
}

const standardTtlMs = 3_600_000;
const standardBytes = 256 * 1024 * 1024;
const standardCount = 1_000;

export class Photos {
  readonly #clock: Clock;
  readonly #tickets: Tickets<Picture>;
  readonly #folder: PhotoFolder;
  readonly #recent = new RecentPhotos();

  private constructor(clock: Clock, folder: PhotoFolder, mark: string) {
    this.#clock = clock;
    this.#tickets = new Tickets(clock, mark);
    this.#folder = folder;
  }

  static async open(settings: PhotosSettings): Promise<Photos> {
    const { folder, clock, ttlMs, maxBytes, maxCount, onFault } = settings;
    const kept = await PhotoFolder.open({
      folder,
      clock,
      ttlMs: ttlMs ?? standardTtlMs,
      maxBytes: maxBytes ?? standardBytes,
      maxCount: maxCount ?? standardCount,
      onFault: onFault ?? (() => undefined),
    });
    return new Photos(clock, kept, settings.mark ?? "");
  }

  /** Before a device is asked for a picture. Throws a TendonError when too many are open. */
  openTicket(holder: TicketHolder): { readonly token: string } {
    return { token: this.#tickets.open(holder) };
  }

  /** When the call is over, however it ended. */
  closeTicket(token: string): void {
    this.#tickets.close(token);
  }

  /** The picture that came with this ticket, while the ticket is open. It is there before the device hears a reply. */
  pictureOf(token: string): Picture | undefined {
    return this.#tickets.contentOf(token);
  }

  /** A picture that is still kept, by its id. */
  async read(id: string): Promise<{ readonly mimeType: PictureType; readonly bytes: Buffer } | undefined> {
    return await this.#folder.read(id);
  }

  /** What a device took in this run and is still kept, oldest first. */
  of(deviceId: string): readonly RecentPhoto[] {
    return this.#recent.of(deviceId).filter(({ id }) => this.#folder.has(id));
  }

  claim(token: string, deviceId: string): Claim<Picture> {
    return this.#tickets.claim(token, deviceId);
  }

  /** Hands the picture to whoever waits and keeps a copy; nothing of either when the call is over. */
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
    this.#recent.add(ticket.deviceId, { id, at, mimeType: upload.mimeType });
    await written;
    return picture;
  }

  /** Resolves when the cleaning under way is done. */
  async settled(): Promise<void> {
    await this.#folder.settled();
  }

  async stop(): Promise<void> {
    this.#tickets.closeAll();
    await this.#folder.stop();
  }
}

export interface RecentPhoto {
  /** Counts the photos of a device from 1. */
  readonly number: number;
  readonly id: string;
  readonly at: number;
  readonly mimeType: PictureType;
}

/** Which of the kept pictures are whose, newest last; the pictures themselves are in the folder. */
class RecentPhotos {
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
