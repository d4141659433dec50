import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";

const Time = Type.String({ format: "date-time", description: "ISO 8601, UTC" });
const strict = { additionalProperties: false };

export const tagPattern = "^[A-Za-z0-9_.:-]{1,64}$";
export const codePattern = "^\\d{6}$";
export const serialPattern = "^[\\x21-\\x7e]{1,64}$";
export const keyPattern = "^[0-9a-fA-F]{64}$";

export const maxTags = 32;

export const Tags = Type.Array(Type.String({ pattern: tagPattern }), { maxItems: maxTags });

export const ProvisionRequest = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: limits.deviceIdLength.max }),
    clientId: Type.String({ minLength: 1, maxLength: limits.clientIdLength.max }),
  },
  strict,
);

export const Provisioned = Type.Object({
  id: Type.String(),
  websocket: Type.Object({
    url: Type.String(),
    token: Type.String({ description: "Shown only once" }),
    version: Type.Integer(),
  }),
  mqtt: Type.Object({
    endpoint: Type.String(),
    client_id: Type.String(),
    username: Type.String(),
    password: Type.String(),
    publish_topic: Type.String(),
    keepalive: Type.Integer(),
  }),
});
export type Provisioned = Static<typeof Provisioned>;

export const ApproveRequest = Type.Object(
  { code: Type.String({ pattern: codePattern, description: "The code that the board shows and speaks" }) },
  strict,
);

/** A device's state after an approval or revocation. */
export const Decided = Type.Object(
  {
    id: Type.String(),
    alias: Type.String(),
    approval: Type.Enum(["approved", "revoked"]),
    replaced: Type.Boolean({
      description: "Whether another board had this id. Its credentials are revoked and it was disconnected",
    }),
    message: Type.String({ description: "The result as a sentence" }),
  },
  { $id: "Decided" },
);
export type Decided = Static<typeof Decided>;

/** A board that waits for approval. Its code is shown only on the board, so that only a person in front of it can enter it. */
export const PendingDevice = Type.Object(
  {
    device: Type.String(),
    board: Type.Union([Type.String(), Type.Null()]),
    firmware: Type.Union([Type.String(), Type.Null()]),
    serial: Type.Union([Type.String(), Type.Null()]),
    from: Type.Union([Type.String({ description: "The address of its request" }), Type.Null()]),
    standing: Type.Enum(["new", "taken", "revoked"], {
      description: "taken: another board has this id and would be replaced",
    }),
    proof: Type.Enum(["unneeded", "missing", "failed", "given"], {
      description: "Whether it proved its serial number, if one was imported",
    }),
    since: Time,
    expiresAt: Time,
  },
  { $id: "PendingDevice" },
);
export type PendingDevice = Static<typeof PendingDevice>;

export const PendingList = Type.Object({
  pending: Type.Array(PendingDevice, { description: "The newest 500" }),
  total: Type.Integer({ minimum: 0 }),
});
export type PendingList = Static<typeof PendingList>;

export const ImportRow = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: limits.deviceIdLength.max }),
    serial: Type.Optional(Type.String({ pattern: serialPattern })),
    hmacKey: Type.Optional(
      Type.String({ pattern: keyPattern, description: "The eFuse key, 32 bytes in hex" }),
    ),
    tags: Type.Optional(Tags),
  },
  strict,
);
export type ImportRow = Static<typeof ImportRow>;

export const ImportRequest = Type.Object(
  { devices: Type.Array(ImportRow, { minItems: 1, maxItems: limits.importBatch.max }) },
  strict,
);

export const ImportReply = Type.Object({
  imported: Type.Integer({ description: "Rows of this request" }),
  total: Type.Integer({ description: "Number of imported devices" }),
});
export type ImportReply = Static<typeof ImportReply>;

export const ImportQuery = Type.Object({
  q: Type.Optional(Type.String({ maxLength: 128, description: "Searched in id, serial number and tags" })),
  tag: Type.Optional(Type.String({ maxLength: 64 })),
  connected: Type.Optional(Type.Boolean({ description: "Whether the device has connected at least once" })),
  importedAt: Type.Optional(
    Type.String({ format: "date-time", description: "The rows of one import, as its audit entry names it" }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: "100 by default" })),
  cursor: Type.Optional(Type.String({ maxLength: 512 })),
});
export type ImportQuery = Static<typeof ImportQuery>;

/** A device of an imported list. Its key is never shown. */
export const ImportedRow = Type.Object(
  {
    id: Type.String(),
    serial: Type.Union([Type.String(), Type.Null()]),
    hasKey: Type.Boolean({ description: "Whether it was imported with an HMAC key" }),
    tags: Type.Array(Type.String(), { description: "The tags it gets when it first connects" }),
    importedAt: Time,
    connected: Type.Boolean({ description: "Whether the device has connected at least once" }),
    lastSeenAt: Type.Union([Time, Type.Null()]),
  },
  { $id: "ImportedRow" },
);
export type ImportedRow = Static<typeof ImportedRow>;

export const ImportList = Type.Object({
  imports: Type.Array(ImportedRow, {
    description:
      "By id. A page of a filter may have fewer rows than `limit`, or none, and still a `nextCursor`",
  }),
  nextCursor: Type.Optional(Type.String()),
  total: Type.Optional(
    Type.Integer({ minimum: 0, description: "Number of matching rows on all pages; only on the first page" }),
  ),
});
export type ImportList = Static<typeof ImportList>;
