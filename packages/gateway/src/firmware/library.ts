/** The administration of images [FWU-1, FWU-2]. */
import {
  type FirmwareChange,
  type FirmwareDetail,
  type FirmwareImageView,
  type FirmwareUpload,
  firmwareLimits,
} from "@tendon/protocol";
import { maySee, type Principal, requireScope } from "../access/access.ts";
import { newCallId } from "../call-ids.ts";
import { type Clock, isoTime } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import type { FirmwareFiles, FirmwareImage, Store, UpdateCounts } from "../store/store.ts";
import type { Copies } from "./copies.ts";
import { checkImage } from "./image-check.ts";
import { hasImage, requireOwnTags } from "./own-images.ts";

export interface FirmwareLibraryDependencies {
  readonly store: Store;
  readonly files: FirmwareFiles;
  readonly copies: Copies;
  readonly clock: Clock;
  readonly events: Events;
  readonly tagsOf: (deviceId: string) => readonly string[];
}

/** How long the list is cached. Another node may change it. */
const knownForMs = 2_000;
const failuresShown = 100;
const allDevices = 100;

export class FirmwareLibrary {
  readonly #dependencies: FirmwareLibraryDependencies;
  #known: { readonly images: readonly FirmwareImage[]; readonly until: number } | undefined;
  #uploads = 0;

  constructor(dependencies: FirmwareLibraryDependencies) {
    this.#dependencies = dependencies;
  }

  async add(
    principal: Principal,
    upload: FirmwareUpload,
    body: AsyncIterable<Uint8Array>,
  ): Promise<FirmwareDetail> {
    requireScope(principal, "admin");
    requireOwnTags(principal, upload.tags ?? []);
    if (this.#uploads >= firmwareLimits.uploadsAtOnce.max) {
      throw new TendonError(
        firmwareLimits.uploadsAtOnce.error,
        "too many images are being uploaded; retry when they have finished",
      );
    }
    this.#uploads += 1;
    try {
      const image = await this.#receive(upload, body);
      this.#dependencies.events.firmwareChanged("added", image, principal.name);
      return await this.detail(principal, image.id);
    } finally {
      this.#uploads -= 1;
      this.#known = undefined;
    }
  }

  async list(principal: Principal): Promise<FirmwareImageView[]> {
    requireScope(principal, "admin");
    const { store } = this.#dependencies;
    const [images, counts] = await Promise.all([store.firmware.all(), store.firmwareUpdates.counts()]);
    const own = images.filter((image) => hasImage(principal, image));
    return await Promise.all(own.map((image) => this.#view(image, counts.get(image.id))));
  }

  async detail(principal: Principal, id: string): Promise<FirmwareDetail> {
    requireScope(principal, "admin");
    const { store, tagsOf } = this.#dependencies;
    const image = await this.#find(principal, id);
    const [counts, failures] = await Promise.all([
      store.firmwareUpdates.counts(id),
      store.firmwareUpdates.failures(id, failuresShown),
    ]);
    return {
      ...(await this.#view(image, counts.get(id))),
      failures: failures
        .filter(({ device: id }) => maySee(principal, { id, tags: tagsOf(id) }))
        .map(({ device, reason = "", changedAt }) => ({ device, reason, at: isoTime(changedAt) })),
    };
  }

  /** Resuming a halted image excuses its earlier failures, because a person has decided to continue. */
  async change(principal: Principal, id: string, change: FirmwareChange): Promise<FirmwareDetail> {
    requireScope(principal, "admin");
    const { store, events } = this.#dependencies;
    const image = await this.#find(principal, id);
    if (change.tags !== undefined) requireOwnTags(principal, change.tags);
    const resumed = change.state === "offered" && image.state === "halted";
    if (resumed || change.retry === true) await store.firmwareUpdates.excuse(id, change.retry === true);
    if (change.state === "halted") await store.firmware.halt(id, `halted by ${principal.name}`);
    const rest = { ...change, state: change.state === "halted" ? undefined : change.state };
    await store.firmware.change(id, {
      ...(rest.share === undefined ? {} : { share: rest.share }),
      ...(rest.tags === undefined ? {} : { tags: [...new Set(rest.tags)] }),
      ...(rest.state === undefined ? {} : { state: rest.state }),
    });
    this.#known = undefined;
    events.firmwareChanged("changed", { ...image, ...change }, principal.name);
    return await this.detail(principal, id);
  }

  /** Removes the image and its files. Devices that run it keep it. */
  async remove(principal: Principal, id: string): Promise<void> {
    requireScope(principal, "admin");
    const { store, copies, events } = this.#dependencies;
    const image = await this.#find(principal, id);
    await store.transaction(async (parts) => {
      await parts.firmware.remove(id);
      await parts.firmwareUpdates.removeImage(id);
    });
    this.#known = undefined;
    await copies.remove(image);
    events.firmwareChanged("removed", image, principal.name);
  }

  /** All images, from a cache that is at most `knownForMs` old. */
  async current(): Promise<readonly FirmwareImage[]> {
    const now = this.#dependencies.clock.monotonic();
    if (this.#known === undefined || this.#known.until <= now) {
      this.#known = { images: await this.#dependencies.store.firmware.all(), until: now + knownForMs };
    }
    return this.#known.images;
  }

  /** Invalidates the cache after a change by the roll-out. */
  changed(): void {
    this.#known = undefined;
  }

  async #receive(upload: FirmwareUpload, body: AsyncIterable<Uint8Array>): Promise<FirmwareImage> {
    const { store, files, clock } = this.#dependencies;
    const { images, imageBytes } = firmwareLimits;
    if ((await store.firmware.all()).length >= images.max) {
      throw new TendonError(images.error, `there are already ${images.max} images; remove one first`);
    }
    const id = newCallId();
    const received = await files.receive(id, body, imageBytes.max);
    if (received === undefined) {
      throw new TendonError(imageBytes.error, `an image may have at most ${imageBytes.max / 2 ** 20} MiB`);
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
        share: upload.share ?? allDevices,
        tags: [...new Set(upload.tags)],
        state: "offered",
        haltedReason: undefined,
        addedAt: clock.now(),
      };
      if (await store.firmware.add(image)) return image;
      await files.remove(image.file);
      throw new TendonError("conflict", `${upload.board} already has an image of version ${version}`);
    } catch (error) {
      await received.discard();
      throw error;
    }
  }

  async #find(principal: Principal, id: string): Promise<FirmwareImage> {
    const image = await this.#dependencies.store.firmware.get(id);
    if (image === undefined || !hasImage(principal, image))
      throw new TendonError("not_found", "there is no firmware image with this id");
    return image;
  }

  async #view(image: FirmwareImage, counts: UpdateCounts | undefined): Promise<FirmwareImageView> {
    const { file: _file, haltedReason, addedAt, tags, ...rest } = image;
    return {
      ...rest,
      tags: [...tags],
      haltedReason: haltedReason ?? null,
      here: await this.#dependencies.copies.existsOnAnyNode(image),
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
