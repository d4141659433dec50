/** Which image a board is offered, if any [FWU-3]. */
import { createHash } from "node:crypto";
import { firmwareLimits, isNewerFirmware } from "@tendon/protocol";
import type { BoardReport } from "../provisioning/provisioning.ts";
import type { FirmwareImage, FirmwareUpdate } from "../store/store.ts";

/** A board that says what it is and what it runs. */
export type KnownBoard = BoardReport & { readonly board: string; readonly version: string };

export function chooseImage(
  report: KnownBoard,
  images: readonly FirmwareImage[],
  updates: ReadonlyMap<string, FirmwareUpdate>,
): FirmwareImage | undefined {
  const within = images.filter(
    (image) => image.state === "offered" && fits(report, image) && isChosen(report.deviceId, image),
  );
  // The way back is one-way: beside it a newer image would lead to and fro for ever.
  const forced = within.filter(({ force }) => force).sort((a, b) => b.addedAt - a.addedAt)[0];
  const candidates =
    forced === undefined
      ? within
          .filter(({ version }) => isNewerFirmware(version, report.version))
          .sort((a, b) => (isNewerFirmware(a.version, b.version) ? -1 : 1))
      : [forced].filter(({ version }) => version !== report.version);
  return candidates.find(({ id }) => mayBeOffered(updates.get(id)));
}

/** Always the same devices of a fleet for one image, and others for the next; a larger share has the smaller in it. */
function isChosen(deviceId: string, { id, share }: FirmwareImage): boolean {
  const place = createHash("sha256").update(`${id}\u0000${deviceId}`).digest().readUInt32BE(0);
  return place < (share / 100) * 2 ** 32;
}

function fits({ chip, slotBytes }: KnownBoard, image: FirmwareImage): boolean {
  return (chip === undefined || chip === image.chip) && (slotBytes === undefined || image.size <= slotBytes);
}

/** Not again to one that came back without it, and not for ever to one that never takes it. */
function mayBeOffered(update: FirmwareUpdate | undefined): boolean {
  if (update === undefined) return true;
  const { state, offers } = update;
  return (state === "offered" || state === "updated") && offers < firmwareLimits.offersPerDevice.max;
}
