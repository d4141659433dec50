/**
 * An image's way through the fleet [FWU-3…6]: offered when a board asks, fetched, and then the board is waited for.
 * One that does not come back with the new version has failed; too many of them halt the image. Everything a board's
 * next boot needs is in the store: a restart of the gateway loses no more than the downloads that were running.
 */
import type { Readable } from "node:stream";
import { firmwareLimits } from "@tendon/protocol";
import type { Clock, Timer } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import type { BoardReport, FirmwareOffer } from "../provisioning/provisioning.ts";
import type { FirmwareFiles, FirmwareImage, FirmwareUpdate, Store } from "../store/store.ts";
import { chooseImage, type KnownBoard } from "./choice.ts";
import type { Copies } from "./copies.ts";
import { Downloads } from "./downloads.ts";
import type { FirmwareLibrary } from "./library.ts";
import type { FirmwareLinks, LinkTarget } from "./links.ts";

export interface RolloutNeeds {
  readonly store: Store;
  readonly files: FirmwareFiles;
  readonly copies: Copies;
  readonly library: FirmwareLibrary;
  readonly links: FirmwareLinks;
  readonly clock: Clock;
  readonly events: Events;
  readonly rules: Config["firmware"];
  /** The address before the word of a link. */
  readonly base: () => string;
}

interface Download {
  readonly size: number;
  readonly content: Readable;
  /** Whether all of it has gone out. */
  done(whole: boolean): void;
}

const lookEveryMs = 5_000;
const lookAtOnce = 500;

export class Rollout {
  readonly #needs: RolloutNeeds;
  readonly #downloads: Downloads;
  /** Devices that something is expected of: all others are none of our business when they connect. */
  readonly #waitedFor: Set<string>;
  /** What devices that are waited for said at their last boot that they run. */
  readonly #running = new Map<string, string>();
  /** What is being written down about a device; its next question waits for it. */
  readonly #writing = new Map<string, Promise<void>>();
  readonly #timer: Timer;
  #looking = false;

  private constructor(needs: RolloutNeeds, waitedFor: readonly string[]) {
    this.#needs = needs;
    this.#downloads = new Downloads(needs.clock);
    this.#waitedFor = new Set(waitedFor);
    this.#timer = needs.clock.every(lookEveryMs, () => this.#quietly(this.#lookForOverdue()));
  }

  static async open(needs: RolloutNeeds): Promise<Rollout> {
    return new Rollout(needs, await needs.store.firmwareUpdates.devicesInProgress());
  }

  /** A board asks at its boot; it says what it runs, and is told what to install, if anything. */
  async offer(report: BoardReport, connectsAtBoot: boolean): Promise<FirmwareOffer | undefined> {
    if (!isKnown(report)) return undefined;
    const { store, library, copies } = this.#needs;
    const { deviceId } = report;
    await this.#writing.get(deviceId);
    this.#running.delete(deviceId);
    const images = (await library.current()).filter(({ board }) => board === report.board);
    if (images.length === 0) return undefined;
    const known = await store.firmwareUpdates.ofDevice(deviceId);
    const updates = new Map(known.map((update) => [update.image, update]));
    // What runs for the first time has to prove itself first; the board could not take another now anyway.
    if (await this.#cameBack(report, connectsAtBoot, images, updates)) return undefined;
    const image = chooseImage(report, images, updates);
    if (image === undefined || !this.#downloads.hasRoom || !(await copies.ready(image))) return undefined;
    const url = `${this.#needs.base()}${this.#needs.links.make({ image: image.id, device: deviceId })}`;
    if (url.length > firmwareLimits.urlLength.max) return undefined;
    this.#downloads.expect(deviceId);
    await store.firmwareUpdates.offered(image.id, deviceId);
    this.#waitedFor.add(deviceId);
    return { version: image.version, url, ...(image.force ? { force: 1 as const } : {}) };
  }

  /** A board comes for it; `undefined` for an address that does not count (any more). `cut` ends it from our side. */
  async download(word: string, cut: () => void): Promise<Download | undefined> {
    const { store, files, copies, links } = this.#needs;
    const target = links.read(word);
    if (target === undefined) return undefined;
    const [image, update] = await Promise.all([
      store.firmware.get(target.image),
      store.firmwareUpdates.get(target.image, target.device),
    ]);
    const wanted = update?.state === "offered" || update?.state === "fetched";
    if (image?.state !== "offered" || !wanted || !(await copies.ready(image))) return undefined;
    if (!this.#downloads.begin(target.device, cut)) {
      await store.firmwareUpdates.withdrawOffer(target.image, target.device);
      throw new TendonError(
        firmwareLimits.downloadsAtOnce.error,
        "too many boards fetch firmware at the moment",
      );
    }
    return {
      size: image.size,
      content: files.read(image.file),
      done: (whole) => {
        this.#downloads.end(target.device, cut);
        if (whole) this.#write(target.device, this.#fetched(target, image));
      },
    };
  }

  /** A device has connected. */
  connected(deviceId: string): void {
    if (this.#waitedFor.has(deviceId)) this.#write(deviceId, this.#proven(deviceId));
  }

  async stop(): Promise<void> {
    this.#timer.cancel();
    this.#downloads.cutAll();
    await Promise.allSettled(this.#writing.values());
  }

  async #fetched(target: LinkTarget, image: FirmwareImage): Promise<void> {
    const { store, clock, rules, events } = this.#needs;
    const dueAt = clock.now() + rules.comeBackMs;
    if (!(await store.firmwareUpdates.move(target, ["offered", "fetched"], { state: "fetched", dueAt })))
      return;
    events.firmware(target.device, { image: image.id, version: image.version, outcome: "fetched" });
  }

  /** Whether the board runs for the first time what it was given; boards that came back without it have failed. */
  async #cameBack(
    { version }: KnownBoard,
    connectsAtBoot: boolean,
    images: readonly FirmwareImage[],
    updates: ReadonlyMap<string, FirmwareUpdate>,
  ): Promise<boolean> {
    let first = false;
    for (const image of images) {
      const update = updates.get(image.id);
      if (update === undefined || update.state === "updated") continue;
      if (image.version === version) {
        const well = connectsAtBoot
          ? await this.#started(update, version)
          : await this.#updated(update, image);
        first ||= well;
      } else if (update.state === "fetched" || update.state === "started") {
        await this.#failed(update, image, `it came back with ${version}`);
      }
    }
    return first;
  }

  /**
   * Over MQTT a board connects at its boot: only then it is well. One that has been given up and still starts again
   * and again stays given up until it does; a newer image may save it, so it is offered one.
   */
  async #started(update: FirmwareUpdate, version: string): Promise<boolean> {
    const { store, clock, rules } = this.#needs;
    this.#waitedFor.add(update.device);
    this.#running.set(update.device, version);
    const dueAt = clock.now() + rules.comeBackMs;
    await store.firmwareUpdates.move(update, ["offered", "fetched"], { state: "started", dueAt });
    return update.state !== "failed" && update.state !== "excused";
  }

  /** What it said at its boot that it runs has brought it here. */
  async #proven(deviceId: string): Promise<void> {
    const { store, library } = this.#needs;
    const images = await library.current();
    for (const update of await store.firmwareUpdates.ofDevice(deviceId)) {
      const image = images.find(({ id }) => id === update.image);
      if (image === undefined || update.state === "updated") continue;
      const runs = this.#running.get(deviceId) === image.version || update.state === "started";
      if (runs) await this.#updated(update, image);
    }
  }

  async #updated(update: FirmwareUpdate, image: FirmwareImage): Promise<boolean> {
    const { store, events } = this.#needs;
    if (!(await store.firmwareUpdates.move(update, [update.state], { state: "updated" }))) return false;
    this.#waitedFor.delete(update.device);
    this.#running.delete(update.device);
    events.firmware(update.device, { image: image.id, version: image.version, outcome: "updated" });
    return true;
  }

  async #failed(update: FirmwareUpdate, image: FirmwareImage, reason: string): Promise<void> {
    const { store, events, library, rules } = this.#needs;
    if (!(await store.firmwareUpdates.move(update, [update.state], { state: "failed", reason }))) return;
    events.firmware(update.device, { image: image.id, version: image.version, outcome: "failed", reason });
    const counts = (await store.firmwareUpdates.counts(image.id)).get(image.id);
    const { failed = 0, updated = 0 } = counts ?? {};
    if (failed < rules.haltFailures || failed * 100 < (failed + updated) * rules.haltPercent) return;
    const why = `${failed} of ${failed + updated} devices did not come back with it`;
    if (!(await store.firmware.halt(image.id, why))) return;
    library.changed();
    const { id, board, version } = image;
    events.firmwareHalted(update.device, { image: id, board, version, reason: why });
  }

  async #lookForOverdue(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const { store } = this.#needs;
      for (const update of await store.firmwareUpdates.overdue(lookAtOnce)) {
        const image = await store.firmware.get(update.image);
        if (image !== undefined) await this.#giveUp(update, image);
      }
    } finally {
      this.#looking = false;
    }
  }

  /** A board that could not ask at its boot connects with the settings it has: then its session says what it runs. */
  async #giveUp(update: FirmwareUpdate, image: FirmwareImage): Promise<void> {
    const { store, rules } = this.#needs;
    const device = await store.devices.get(update.device);
    const heard = device?.firmware === image.version && (device.lastSeenAt ?? 0) >= update.changedAt;
    if (heard) await this.#updated(update, image);
    else if (update.state === "started") await this.#failed(update, image, "it runs, but does not connect");
    else {
      const minutes = Math.round(rules.comeBackMs / 60_000);
      await this.#failed(update, image, `it was not heard of for ${minutes} minutes after it fetched it`);
    }
  }

  #write(deviceId: string, work: Promise<void>): void {
    const before = this.#writing.get(deviceId);
    const mine = Promise.allSettled([before, work]).then(([, { status }]) => {
      if (this.#writing.get(deviceId) === mine) this.#writing.delete(deviceId);
      if (status === "rejected") this.#needs.events.notRemembered(deviceId, "firmware");
    });
    this.#writing.set(deviceId, mine);
  }

  /** The store tells by itself that it is away; what was not written is looked at again. */
  #quietly(work: Promise<void>): void {
    work.catch(() => undefined);
  }
}

function isKnown(report: BoardReport): report is KnownBoard {
  return report.board !== undefined && report.version !== undefined;
}
