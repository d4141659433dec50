/** Calls that wait until their device is online. */
import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";
import { type Decoded, invalid, ok } from "../outcome.ts";
import { compileCheck } from "../schema-check.ts";

/** The shortest expiry of a queued call. */
export const minQueuedCallMs = 1_000;

/** What happens to a call if its device is offline. */
export const QueueOptions = {
  whenOffline: Type.Optional(
    Type.Enum(["fail", "queue"], {
      description:
        "fail (default): the call fails with `device_offline` · queue: the gateway stores the call and runs it when the device is next online",
    }),
  ),
  expiresInMs: Type.Optional(
    Type.Integer({
      minimum: minQueuedCallMs,
      maximum: limits.waitingCallMs.max,
      description: "How long a queued call may wait; 24 hours by default, 30 days at most",
    }),
  ),
  supersedeKey: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.supersedeKeyLength.max,
      description:
        "A newer queued call with the same key, device and tool, by the same token, replaces this one",
    }),
  ),
};

/** The reply to a call that waits until its device is online. */
export const QueuedReply = Type.Object(
  {
    callId: Type.String(),
    device: Type.String(),
    tool: Type.String(),
    state: Type.Literal("queued"),
    expiresAt: Type.String({ format: "date-time" }),
  },
  { $id: "QueuedReply" },
);
export type QueuedReply = Static<typeof QueuedReply>;

const Options = Type.Object(QueueOptions);
const check = compileCheck(Options);

/** Reads how a message asks for the queue. Other fields are ignored. */
export function decodeQueueOptions(message: unknown): Decoded<Static<typeof Options>> {
  return check.fits(message) ? ok(message) : invalid(check.whyNot(message));
}
