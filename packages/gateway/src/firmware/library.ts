/** The images that are on offer, as whoever administers them sees them [FWU-1, FWU-2]. */
import {
  type FirmwareChange,
  type FirmwareDetail,
  type FirmwareImageView,
  type FirmwareUpload,
  firmwareLimits,
} from "@tendon/protocol";
import { type Principal, requireScope } from "../access/access.ts";
import { newCallId } from "../call-ids.ts";
import { type Clock, isoTime } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import type { FirmwareFiles, FirmwareImage, Store, UpdateCounts } from "../store/store.ts";
import type { Copies } from "./copies.ts";
import { checkImage } from "./image-check.ts";

export interface LibraryNeeds {
  readonly store: Store;
  readonly files: FirmwareFiles;
  readonly copies: Copies;
  readonly clock: Clock;
  readonly events: Events;
}

/** Another node may have changed something: what is known is looked up again this often. */
const knownForMs = 2_000;
const failuresShown = 100;
const everybody = 100;

export class FirmwareLibrary {
  readonly #needs: LibraryNeeds;
  #known: { readonly images: readonly FirmwareImage[]; readonly until: number } | undefined;
  #uploads = 0;

  constructor(needs: LibraryNeeds) {
    this.#needs = needs;
  }

  async add(
    principal: Principal,
    upload: FirmwareUpload,
    body: AsyncIterable<Uint8Array>,
  ): Promise<FirmwareDetail> {
    requireScope(principal, "admin");
    if (this.#uploads >= firmwareLimits.uploadsAtOnce.max) {
      throw new TendonError(firmwareLimits.uploadsAtOnce.error, "other images are being handed in right now");
    }
    this.#uploads += 1;
    try {
      const image = await this.#take(upload, body);
      this.#needs.events.firmwareChanged("added", image, principal.name);
      return await this.detail(principal, image.id);
    } finally {
      this.#uploads -= 1;
      this.#known = undefined;
    }
  }

  async list(principal: Principal): Promise<FirmwareImageView[]> {
    requireScope(principal, "admin");
    const { store } = this.#needs;
    const [images, counts] = await Promise.all([store.firmware.all(), store.firmwareUpdates.counts()]);
    return await Promise.all(images.map((image) => this.#view(image, counts.get(image.id))));
  }

  async detail(principal: Principal, id: string): Promise<FirmwareDetail> {
    requireScope(principal, "admin");
    const { store } = this.#needs;
    const image = await this.#find(id);
    const [counts, failures] = await Promise.all([
      store.firmwareUpdates.counts(id),
      store.firmwareUpdates.failures(id, failuresShown),
    ]);
    return {
      ...(await this.#view(image, counts.get(id))),
      failures: failures.map(({ device, reason = "", changedAt }) => ({
        device,
        reason,
        at: isoTime(changedAt),
      })),
    };
  }

  /** Going on after a halt forgives what failed so far: it was looked at by whoever goes on. */
  async change(principal: Principal, id: string, change: FirmwareChange): Promise<FirmwareDetail> {
    requireScope(principal, "admin");
    const { store, events } = this.#needs;
    const image = await this.#find(id);
    const resumed = change.state === "offered" && image.state === "halted";
    if (resumed || change.retry === true) await store.firmwareUpdates.excuse(id, change.retry === true);
    if (change.state === "halted") await store.firmware.halt(id, `halted by ${principal.name}`);
    const rest = { ...change, state: change.state === "halted" ? undefined : change.state };
    await store.firmware.change(id, {
      ...(rest.share === undefined ? {} : { share: rest.share }),
      ...(rest.state === undefined ? {} : { state: rest.state }),
    });
    this.#known = undefined;
    events.firmwareChanged("changed", { ...image, ...change }, principal.name);
    return await this.detail(principal, id);
  }

  /** Devices that have it keep it; nobody is offered it any more. */
  async remove(principal: Principal, id: string): Promise<void> {
    requireScope(principal, "admin");
    const { store, copies, events } = this.#needs;
    const image = await this.#find(id);
    await store.transaction(async (parts) => {
      await parts.firmware.remove(id);
      await parts.firmwareUpdates.removeImage(id);
    });
    this.#known = undefined;
    await copies.remove(image);
    events.firmwareChanged("removed", image, principal.name);
  }

  /** All images, as they were a moment ago at the latest. */
  async current(): Promise<readonly FirmwareImage[]> {
    const now = this.#needs.clock.monotonic();
    if (this.#known === undefined || this.#known.until <= now) {
      this.#known = { images: await this.#needs.store.firmware.all(), until: now + knownForMs };
    }
    return this.#known.images;
  }

  /** Something about an image was changed by the course of things. */
  changed(): void {
    this.#known = undefined;
  }

  async #take(upload: FirmwareUpload, body: AsyncIterable<Uint8Array>): Promise<FirmwareImage> {
    const { store, files, clock } = this.#needs;
    const { images, imageBytes } = firmwareLimits;
    if ((await store.firmware.all()).length >= images.max) {
      throw new TendonError(images.error, `there are ${images.max} images already; remove some`);
    }
    const id = newCallId();
    const received = await files.receive(id, body, imageBytes.max);
    if (received === undefined) {
      throw new TendonError(imageBytes.error, `an image may have ${imageBytes.max / 2 ** 20} MiB`);
    }
    try {
      const { chip, version, project } = checkImage(received.bytes, upload);
      const image: FirmwareImage = {
        id,
        board: upload.board,
        version,
        file: await received.keep(),
        size: received.size,
        sha256: received.sha256,
        chip,
        project,
        force: upload.force === true,
        share: upload.share ?? everybody,
        state: "offered",
        haltedReason: undefined,
        addedAt: clock.now(),
      };
      if (await store.firmware.add(image)) return image;
      await files.remove(image.file);
      throw new TendonError("conflict", `${upload.board} has an image of version ${version} already`);
    } catch (error) {
      await received.discard();
      throw error;
    }
  }

  async #find(id: string): Promise<FirmwareImage> {
    const image = await this.#needs.store.firmware.get(id);
    if (image === undefined) throw new TendonError("not_found", "no image has this id");
    return image;
  }

  async #view(image: FirmwareImage, counts: UpdateCounts | undefined): Promise<FirmwareImageView> {
    const { file: _file, haltedReason, addedAt, ...rest } = image;
    return {
      ...rest,
      haltedReason: haltedReason ?? null,
      here: await this.#needs.copies.somewhere(image),
      addedAt: isoTime(addedAt),
      devices: {
        offered: counts?.offered ?? 0,
        fetched: (counts?.fetched ?? 0) + (counts?.started ?? 0),
        updated: counts?.updated ?? 0,
        failed: (counts?.failed ?? 0) + (counts?.excused ?? 0),
      },
    };
  }
}
