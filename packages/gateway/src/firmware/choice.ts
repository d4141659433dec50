/** Selects the image to offer to a board, if any [FWU-3]. */
import { createHash } from "node:crypto";
import { firmwareLimits, isNewerFirmware } from "@tendon/protocol";
import type { BoardReport } from "../provisioning/provisioning.ts";
import type { FirmwareImage, FirmwareUpdate } from "../store/store.ts";

/** A report with the board type and the running version. */
export type IdentifiedBoard = BoardReport & { readonly board: string; readonly version: string };

/** `tags` are those that the device has now. */
export function chooseImage(
  report: IdentifiedBoard,
  tags: readonly string[],
  images: readonly FirmwareImage[],
  updates: ReadonlyMap<string, FirmwareUpdate>,
): FirmwareImage | undefined {
  const within = images.filter(
    (image) =>
      image.state === "offered" &&
      fits(report, image) &&
      isFor(tags, image) &&
      isChosen(report.deviceId, image),
  );
  // A forced image excludes all others. Otherwise the board would alternate between it and a newer one.
  const forced = within.filter(({ force }) => force).sort((a, b) => b.addedAt - a.addedAt)[0];
  const candidates =
    forced === undefined
      ? within
          .filter(({ version }) => isNewerFirmware(version, report.version))
          .sort((a, b) => (isNewerFirmware(a.version, b.version) ? -1 : 1))
      : [forced].filter(({ version }) => version !== report.version);
  return candidates.find(({ id }) => mayBeOffered(updates.get(id)));
}

function isFor(deviceTags: readonly string[], { tags }: FirmwareImage): boolean {
  return tags.length === 0 || tags.some((tag) => deviceTags.includes(tag));
}

/** Deterministic per image and device. A larger share includes the devices of a smaller one. */
function isChosen(deviceId: string, { id, share }: FirmwareImage): boolean {
  const position = createHash("sha256").update(`${id}\u0000${deviceId}`).digest().readUInt32BE(0);
  return position < (share / 100) * 2 ** 32;
}

function fits({ chip, slotBytes }: IdentifiedBoard, image: FirmwareImage): boolean {
  return (chip === undefined || chip === image.chip) && (slotBytes === undefined || image.size <= slotBytes);
}

/** Not after a failed update, and at most a limited number of times. */
function mayBeOffered(update: FirmwareUpdate | undefined): boolean {
  if (update === undefined) return true;
  const { state, offers } = update;
  return (state === "offered" || state === "updated") && offers < firmwareLimits.offersPerDevice.max;
}
