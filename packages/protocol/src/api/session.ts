import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";
import { scopes } from "./token.ts";

/** A page signs in with whatever a person has at hand. */
export const SignInRequest = Type.Object(
  {
    secret: Type.String({
      minLength: 1,
      maxLength: limits.signInSecretLength.max,
      description: "A token, or a one-time code",
    }),
  },
  { additionalProperties: false },
);

const Who = Type.Object({
  name: Type.String({ description: "The token's name, as it stands in the history" }),
  scopes: Type.Array(Type.Enum([...scopes])),
  limited: Type.Boolean({ description: "Whether only some devices exist for it" }),
});

const otaProblems = ["this_machine", "public_url", "unreadable"] as const;
/** What keeps boards from the OTA address, and so what has to be changed. */
export type OtaProblem = (typeof otaProblems)[number];

const About = Type.Object({
  version: Type.String(),
  url: Type.String({ description: "Where people and programs elsewhere reach the gateway" }),
  ota: Type.String({ description: "What a board is told to ask for its settings" }),
  otaProblem: Type.Optional(
    Type.Enum([...otaProblems], {
      description:
        "Why boards cannot use it. this_machine: the gateway listens on loopback; public_url: `http.publicUrl` has to name an address of this machine; unreadable: the firmware cannot read it",
    }),
  ),
  mqtt: Type.String({ description: "MQTT for apps" }),
  demo: Type.Boolean({ description: "Whether a virtual device can be started from here" }),
  voice: Type.Boolean({ description: "Whether devices talk to a voice server through this gateway" }),
});

/** Why somebody is no longer signed in. */
const sessionEndings = ["signed_out", "token", "idle", "age", "displaced", "unknown"] as const;
export type SessionEnding = (typeof sessionEndings)[number];

/** Who is signed in here, and what the page needs to know of its gateway. Asked without a session it says so. */
export const SessionView = Type.Object(
  {
    principal: Type.Union([Who, Type.Null()]),
    gateway: Type.Union([About, Type.Null()]),
    ended: Type.Optional(
      Type.Enum([...sessionEndings], {
        description:
          "Why the cookie's session has ended: signed out; its token was revoked, replaced or has expired; not used for too long; too old; made room for others; not known here",
      }),
    ),
  },
  { $id: "Session" },
);
export type SessionView = Static<typeof SessionView>;

export const SignInCode = Type.Object({
  code: Type.String({ description: "Signs in once" }),
  url: Type.String({ description: "Opens the console and signs in; the code stands in the fragment" }),
  expiresAt: Type.String({ format: "date-time" }),
});
export type SignInCode = Static<typeof SignInCode>;
