import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";
import { scopes } from "./choices.ts";

/** A page signs in with a token or a code. */
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
  name: Type.String({ description: "The token's name, as in the history" }),
  scopes: Type.Array(Type.Enum([...scopes])),
  limited: Type.Boolean({ description: "Whether it is limited to some devices" }),
});

const otaProblems = ["this_machine", "public_url", "unreadable"] as const;
/** Why boards cannot use the OTA address. */
export type OtaProblem = (typeof otaProblems)[number];

const About = Type.Object({
  version: Type.String(),
  url: Type.String({ description: "The gateway's address for other machines" }),
  ota: Type.String({ description: "The OTA address that boards are given" }),
  otaProblem: Type.Optional(
    Type.Enum([...otaProblems], {
      description:
        "Why boards cannot use it. this_machine: the gateway listens on loopback; public_url: `http.publicUrl` has to name an address of this machine; unreadable: the firmware cannot parse it",
    }),
  ),
  mqtt: Type.String({ description: "MQTT for apps" }),
  command: Type.String({
    description: "How the command is typed on the gateway's machine, such as `npx tendon`",
  }),
  demo: Type.Boolean({ description: "Whether the console can start a virtual device" }),
  voice: Type.Boolean({ description: "Whether devices talk to a voice server through this gateway" }),
});

/** Why a session has ended. */
const sessionEndings = ["signed_out", "token", "idle", "age", "displaced", "unknown"] as const;
export type SessionEnding = (typeof sessionEndings)[number];

/** The session's principal and facts about the gateway. Without a session, the principal is null. */
export const SessionView = Type.Object(
  {
    principal: Type.Union([Who, Type.Null()]),
    gateway: Type.Union([About, Type.Null()]),
    ended: Type.Optional(
      Type.Enum([...sessionEndings], {
        description:
          "Why the cookie's session has ended: signed out; its token was revoked, replaced or has expired; unused for too long; too old; replaced by newer sessions; unknown",
      }),
    ),
  },
  { $id: "Session" },
);
export type SessionView = Static<typeof SessionView>;

export const SignInCode = Type.Object({
  code: Type.String({ description: "Signs in once" }),
  url: Type.String({ description: "Opens the console and signs in; the code is in the fragment" }),
  expiresAt: Type.String({ format: "date-time" }),
});
export type SignInCode = Static<typeof SignInCode>;
