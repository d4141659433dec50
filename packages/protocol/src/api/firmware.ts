import Type, { type Static } from "typebox";
import { maxTags, tagPattern } from "./provisioning.ts";

export const boardPattern = "^[A-Za-z0-9._-]{1,64}$";

const Share = Type.Integer({
  minimum: 0,
  maximum: 100,
  description:
    "Percentage of devices that are offered it, of those with its tags if it has any; a higher share includes the devices of a lower one. 100 by default",
});

const OfferTags = Type.Array(Type.String({ pattern: tagPattern }), {
  maxItems: maxTags,
  description: "Offer it only to devices with at least one of these tags; to all if the list is empty",
});

export const FirmwareUpload = Type.Object(
  {
    board: Type.String({ pattern: boardPattern, description: "The board it was built for" }),
    version: Type.Optional(
      Type.String({
        maxLength: 32,
        description: "The expected version; another one is rejected",
      }),
    ),
    share: Type.Optional(Share),
    tags: Type.Optional(OfferTags),
    force: Type.Optional(
      Type.Boolean({
        description:
          "Also offer it to devices with a newer version, as a downgrade. They are then offered no other image",
      }),
    ),
    anyBoard: Type.Optional(
      Type.Boolean({ description: "Accept it even if it does not contain the board's name" }),
    ),
  },
  { additionalProperties: false },
);
export type FirmwareUpload = Static<typeof FirmwareUpload>;

export const FirmwareChange = Type.Object(
  {
    share: Type.Optional(Share),
    tags: Type.Optional(OfferTags),
    state: Type.Optional(Type.Enum(["offered", "halted"])),
    retry: Type.Optional(Type.Boolean({ description: "Offer it again to devices that failed to update" })),
  },
  { additionalProperties: false },
);
export type FirmwareChange = Static<typeof FirmwareChange>;

const Time = Type.String({ format: "date-time" });

const fields = {
  id: Type.String(),
  board: Type.String(),
  version: Type.String(),
  chip: Type.String({ description: "Such as esp32s3" }),
  project: Type.String({ description: "The project name of the build" }),
  size: Type.Integer(),
  sha256: Type.String(),
  share: Share,
  tags: OfferTags,
  force: Type.Boolean(),
  state: Type.Enum(["offered", "halted"]),
  haltedReason: Type.Union([Type.String(), Type.Null()]),
  here: Type.Boolean({
    description: "Whether a node has the file; an image without it is not offered",
  }),
  addedAt: Time,
  devices: Type.Object(
    {
      offered: Type.Integer({
        description: "Devices that were offered it and have not downloaded it completely",
      }),
      fetched: Type.Integer({ description: "Devices that downloaded it and have not restarted yet" }),
      updated: Type.Integer({ description: "Devices that run it" }),
      failed: Type.Integer({ description: "Devices that failed to update" }),
    },
    { description: "Progress of the roll-out" },
  ),
};

export const FirmwareImageView = Type.Object(fields, { $id: "Firmware" });
export type FirmwareImageView = Static<typeof FirmwareImageView>;

export const FirmwareDetail = Type.Object(
  {
    ...fields,
    failures: Type.Array(Type.Object({ device: Type.String(), reason: Type.String(), at: Time }), {
      description: "Devices that failed to update, latest first, at most 100",
    }),
  },
  { $id: "FirmwareDetail" },
);
export type FirmwareDetail = Static<typeof FirmwareDetail>;

export const FirmwareList = Type.Object({ images: Type.Array(FirmwareImageView) });
export type FirmwareList = Static<typeof FirmwareList>;
