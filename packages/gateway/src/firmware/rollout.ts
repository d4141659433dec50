/**
 * The roll-out of images [FWU-3…6]: offered when a board requests its settings, downloaded, and confirmed when the
 * board comes back. A board that does not come back with the new version has failed; too many failures halt the image.
 * The state is in the store, so a restart of the gateway loses only running downloads.
 */
import type { Readable } from "node:stream";
import { firmwareLimits } from "@tendon/protocol";
import type { Clock, Timer } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import type { BoardReport, FirmwareOffer } from "../provisioning/provisioning.ts";
import type { FirmwareFiles, FirmwareImage, FirmwareUpdate, Store } from "../store/store.ts";
import { chooseImage, type IdentifiedBoard } from "./choice.ts";
import type { Copies } from "./copies.ts";
import { Downloads } from "./downloads.ts";
import type { FirmwareLibrary } from "./library.ts";
import type { FirmwareLinks, LinkTarget } from "./links.ts";

export interface RolloutDependencies {
  readonly store: Store;
  readonly files: FirmwareFiles;
  readonly copies: Copies;
  readonly library: FirmwareLibrary;
  readonly links: FirmwareLinks;
  readonly clock: Clock;
  readonly events: Events;
  readonly rules: Config["firmware"];
  readonly tagsOf: (deviceId: string) => readonly string[];
  /** The download address without its token. */
  readonly base: () => string;
}

interface Download {
  readonly size: number;
  readonly content: Readable;
  /** `complete`: all bytes were sent. */
  done(complete: boolean): void;
}

const checkEveryMs = 5_000;
const checkBatch = 500;

export class Rollout {
  readonly #dependencies: RolloutDependencies;
  readonly #downloads: Downloads;
  /** Devices with an unfinished update. Connections of other devices are ignored. */
  readonly #inProgress: Set<string>;
  /** The version that a device with an unfinished update reported at its last boot. */
  readonly #running = new Map<string, string>();
  /** Running writes by device. The device's next request waits for them. */
  readonly #writing = new Map<string, Promise<void>>();
  readonly #timer: Timer;
  #checking = false;

  private constructor(dependencies: RolloutDependencies, inProgress: readonly string[]) {
    this.#dependencies = dependencies;
    this.#downloads = new Downloads(dependencies.clock);
    this.#inProgress = new Set(inProgress);
    this.#timer = dependencies.clock.every(checkEveryMs, () => this.#ignoreFailure(this.#checkOverdue()));
  }

  static async open(dependencies: RolloutDependencies): Promise<Rollout> {
    return new Rollout(dependencies, await dependencies.store.firmwareUpdates.devicesInProgress());
  }

  /** Called at a board's boot, with the version that it runs. Returns the image to install, if any. */
  async offer(report: BoardReport, connectsAtBoot: boolean): Promise<FirmwareOffer | undefined> {
    if (!isKnown(report)) return undefined;
    const { store, library, copies } = this.#dependencies;
    const { deviceId } = report;
    await this.#writing.get(deviceId);
    this.#running.delete(deviceId);
    const images = (await library.current()).filter(({ board }) => board === report.board);
    if (images.length === 0) return undefined;
    const known = await store.firmwareUpdates.ofDevice(deviceId);
    const updates = new Map(known.map((update) => [update.image, update]));
    // A new version must be confirmed first. The board could not install another one now anyway.
    if (await this.#recordBoot(report, connectsAtBoot, images, updates)) return undefined;
    const image = chooseImage(report, this.#dependencies.tagsOf(deviceId), images, updates);
    if (image === undefined || !this.#downloads.hasRoom || !(await copies.ready(image))) return undefined;
    const url = `${this.#dependencies.base()}${this.#dependencies.links.make({ image: image.id, device: deviceId })}`;
    if (url.length > firmwareLimits.urlLength.max) return undefined;
    this.#downloads.expect(deviceId);
    await store.firmwareUpdates.offered(image.id, deviceId);
    this.#inProgress.add(deviceId);
    return { version: image.version, url, ...(image.force ? { force: 1 as const } : {}) };
  }

  /** Starts a download; `undefined` for an invalid or expired token. `abort` ends the download. */
  async download(token: string, abort: () => void): Promise<Download | undefined> {
    const { store, files, copies, links } = this.#dependencies;
    const target = links.read(token);
    if (target === undefined) return undefined;
    const [image, update] = await Promise.all([
      store.firmware.get(target.image),
      store.firmwareUpdates.get(target.image, target.device),
    ]);
    const wanted = update?.state === "offered" || update?.state === "fetched";
    if (image?.state !== "offered" || !wanted || !(await copies.ready(image))) return undefined;
    if (!this.#downloads.begin(target.device, abort)) {
      await store.firmwareUpdates.withdrawOffer(target.image, target.device);
      throw new TendonError(
        firmwareLimits.downloadsAtOnce.error,
        "too many boards are downloading firmware; retry later",
      );
    }
    return {
      size: image.size,
      content: files.read(image.file),
      done: (complete) => {
        this.#downloads.end(target.device, abort);
        if (complete) this.#write(target.device, this.#markFetched(target, image));
      },
    };
  }

  connected(deviceId: string): void {
    if (this.#inProgress.has(deviceId)) this.#write(deviceId, this.#confirm(deviceId));
  }

  async stop(): Promise<void> {
    this.#timer.cancel();
    this.#downloads.abortAll();
    await Promise.allSettled(this.#writing.values());
  }

  async #markFetched(target: LinkTarget, image: FirmwareImage): Promise<void> {
    const { store, clock, rules, events } = this.#dependencies;
    const dueAt = clock.now() + rules.comeBackMs;
    if (!(await store.firmwareUpdates.move(target, ["offered", "fetched"], { state: "fetched", dueAt })))
      return;
    events.firmware(target.device, { image: image.id, version: image.version, outcome: "fetched" });
  }

  /** Whether the board runs the new version for the first time. A board with another version has failed. */
  async #recordBoot(
    { version }: IdentifiedBoard,
    connectsAtBoot: boolean,
    images: readonly FirmwareImage[],
    updates: ReadonlyMap<string, FirmwareUpdate>,
  ): Promise<boolean> {
    let first = false;
    for (const image of images) {
      const update = updates.get(image.id);
      if (update === undefined || update.state === "updated") continue;
      if (image.version === version) {
        const ok = connectsAtBoot
          ? await this.#markStarted(update, version)
          : await this.#markUpdated(update, image);
        first ||= ok;
      } else if (update.state === "fetched" || update.state === "started") {
        await this.#markFailed(update, image, `the device restarted with ${version}`);
      }
    }
    return first;
  }

  /**
   * Over MQTT a board connects at its boot, which confirms the update. A failed board that keeps restarting stays
   * failed until it connects. It may be offered a newer image, which may repair it.
   */
  async #markStarted(update: FirmwareUpdate, version: string): Promise<boolean> {
    const { store, clock, rules } = this.#dependencies;
    this.#inProgress.add(update.device);
    this.#running.set(update.device, version);
    const dueAt = clock.now() + rules.comeBackMs;
    await store.firmwareUpdates.move(update, ["offered", "fetched"], { state: "started", dueAt });
    return update.state !== "failed" && update.state !== "excused";
  }

  /** The device connected with the version that it reported at its boot. */
  async #confirm(deviceId: string): Promise<void> {
    const { store, library } = this.#dependencies;
    const images = await library.current();
    for (const update of await store.firmwareUpdates.ofDevice(deviceId)) {
      const image = images.find(({ id }) => id === update.image);
      if (image === undefined || update.state === "updated") continue;
      const runs = this.#running.get(deviceId) === image.version || update.state === "started";
      if (runs) await this.#markUpdated(update, image);
    }
  }

  async #markUpdated(update: FirmwareUpdate, image: FirmwareImage): Promise<boolean> {
    const { store, events } = this.#dependencies;
    if (!(await store.firmwareUpdates.move(update, [update.state], { state: "updated" }))) return false;
    this.#inProgress.delete(update.device);
    this.#running.delete(update.device);
    events.firmware(update.device, { image: image.id, version: image.version, outcome: "updated" });
    return true;
  }

  async #markFailed(update: FirmwareUpdate, image: FirmwareImage, reason: string): Promise<void> {
    const { store, events, library, rules } = this.#dependencies;
    if (!(await store.firmwareUpdates.move(update, [update.state], { state: "failed", reason }))) return;
    events.firmware(update.device, { image: image.id, version: image.version, outcome: "failed", reason });
    const counts = (await store.firmwareUpdates.counts(image.id)).get(image.id);
    const { failed = 0, updated = 0 } = counts ?? {};
    if (failed < rules.haltFailures || failed * 100 < (failed + updated) * rules.haltPercent) return;
    const why = `${failed} of ${failed + updated} devices failed to update`;
    if (!(await store.firmware.halt(image.id, why))) return;
    library.changed();
    const { id, board, version } = image;
    events.firmwareHalted(update.device, { image: id, board, version, reason: why });
  }

  async #checkOverdue(): Promise<void> {
    if (this.#checking) return;
    this.#checking = true;
    try {
      const { store } = this.#dependencies;
      for (const update of await store.firmwareUpdates.overdue(checkBatch)) {
        const image = await store.firmware.get(update.image);
        if (image !== undefined) await this.#expire(update, image);
      }
    } finally {
      this.#checking = false;
    }
  }

  /** A board that could not request its settings connects with the old ones. Its session then shows its version. */
  async #expire(update: FirmwareUpdate, image: FirmwareImage): Promise<void> {
    const { store, rules } = this.#dependencies;
    const device = await store.devices.get(update.device);
    const seen = device?.firmware === image.version && (device.lastSeenAt ?? 0) >= update.changedAt;
    if (seen) await this.#markUpdated(update, image);
    else if (update.state === "started")
      await this.#markFailed(update, image, "the device started the new version but did not connect");
    else {
      const minutes = Math.round(rules.comeBackMs / 60_000);
      await this.#markFailed(
        update,
        image,
        `the device did not reconnect within ${minutes} min after the download`,
      );
    }
  }

  #write(deviceId: string, work: Promise<void>): void {
    const before = this.#writing.get(deviceId);
    const mine = Promise.allSettled([before, work]).then(([, { status }]) => {
      if (this.#writing.get(deviceId) === mine) this.#writing.delete(deviceId);
      if (status === "rejected") this.#dependencies.events.notStored(deviceId, "firmware");
    });
    this.#writing.set(deviceId, mine);
  }

  /** The store reports that it is unavailable. The next check retries. */
  #ignoreFailure(work: Promise<void>): void {
    work.catch(() => undefined);
  }
}

function isKnown(report: BoardReport): report is IdentifiedBoard {
  return report.board !== undefined && report.version !== undefined;
}
