import Type, { type Static } from "typebox";

export const boardPattern = "^[A-Za-z0-9._-]{1,64}$";

const Share = Type.Integer({
  minimum: 0,
  maximum: 100,
  description: "To how many of a hundred devices it is offered; raising it keeps those that have been chosen",
});

export const FirmwareUpload = Type.Object(
  {
    board: Type.String({ pattern: boardPattern, description: "The board it was built for" }),
    version: Type.Optional(
      Type.String({
        maxLength: 32,
        description: "The version it is expected to have; another one is refused",
      }),
    ),
    share: Type.Optional(Share),
    force: Type.Optional(
      Type.Boolean({
        description:
          "Also for devices with a newer version: a way back. They are offered no other image then",
      }),
    ),
    anyBoard: Type.Optional(
      Type.Boolean({ description: "Take it although the board's name does not occur in it" }),
    ),
  },
  { additionalProperties: false },
);
export type FirmwareUpload = Static<typeof FirmwareUpload>;

export const FirmwareChange = Type.Object(
  {
    share: Type.Optional(Share),
    state: Type.Optional(Type.Enum(["offered", "halted"])),
    retry: Type.Optional(
      Type.Boolean({ description: "Offer it again to devices that did not come back with it" }),
    ),
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
  project: Type.String({ description: "As the build called itself" }),
  size: Type.Integer(),
  sha256: Type.String(),
  share: Share,
  force: Type.Boolean(),
  state: Type.Enum(["offered", "halted"]),
  haltedReason: Type.Union([Type.String(), Type.Null()]),
  here: Type.Boolean({
    description: "Whether the file is there, on this node or another; an image without it is not offered",
  }),
  addedAt: Time,
  devices: Type.Object(
    {
      offered: Type.Integer({ description: "Have been offered it and not fetched it whole" }),
      fetched: Type.Integer({ description: "Have it, and are to come back" }),
      updated: Type.Integer({ description: "Came back with it" }),
      failed: Type.Integer({ description: "Did not come back with it" }),
    },
    { description: "How far it has come" },
  ),
};

export const FirmwareImageView = Type.Object(fields, { $id: "Firmware" });
export type FirmwareImageView = Static<typeof FirmwareImageView>;

export const FirmwareDetail = Type.Object(
  {
    ...fields,
    failures: Type.Array(Type.Object({ device: Type.String(), reason: Type.String(), at: Time }), {
      description: "Devices that did not come back with it, the latest first, at most a hundred",
    }),
  },
  { $id: "FirmwareDetail" },
);
export type FirmwareDetail = Static<typeof FirmwareDetail>;

export const FirmwareList = Type.Object({ images: Type.Array(FirmwareImageView) });
export type FirmwareList = Static<typeof FirmwareList>;
