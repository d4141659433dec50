import Type, { type Static } from "typebox";
import { scopes } from "./choices.ts";

const Devices = Type.Object(
  {
    ids: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
        maxItems: 10_000,
        description: "Ids; aliases are replaced by ids when the token is created",
      }),
    ),
    tags: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 100 })),
  },
  {
    additionalProperties: false,
    description: "Limits the token to these devices; other devices are unknown to it",
  },
);

export const TokenRequest = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 64,
      description:
        "Who or what it is for. `admin`, `gateway`, `voice-server` and names that begin with `console:` are reserved",
    }),
    scopes: Type.Array(Type.Enum([...scopes]), { minItems: 1, maxItems: scopes.length }),
    devices: Type.Optional(Devices),
    expiresAt: Type.Optional(Type.String({ format: "date-time" })),
  },
  { additionalProperties: false },
);
export type TokenRequest = Static<typeof TokenRequest>;

const tokenFields = {
  id: Type.String(),
  name: Type.String(),
  scopes: Type.Array(Type.String()),
  devices: Type.Optional(Devices),
  createdAt: Type.String({ format: "date-time" }),
  createdBy: Type.Union([Type.String(), Type.Null()], {
    description: "The name of the principal that created it; null for tokens of versions before 0.2.0",
  }),
  createdFrom: Type.Union([Type.String(), Type.Null()], {
    description: "The address that it was created from; null for tokens of versions before 0.2.0",
  }),
  expiresAt: Type.Union([Type.String({ format: "date-time" }), Type.Null()]),
  lastUsedAt: Type.Union([Type.String({ format: "date-time" }), Type.Null()]),
  lastUsedFrom: Type.Union([Type.String(), Type.Null()], {
    description: "The address of its last use; null if it was not used or the address is unknown",
  }),
};

export const TokenView = Type.Object(tokenFields);
export type TokenView = Static<typeof TokenView>;

export const TokenList = Type.Object({ tokens: Type.Array(TokenView) });
export type TokenList = Static<typeof TokenList>;

export const NewToken = Type.Object({
  ...tokenFields,
  token: Type.String({ description: "Shown only once" }),
});
export type NewToken = Static<typeof NewToken>;
