/** Schemas and idempotency that several routes share. */
import { automaticRequest, type CallOrigin, consoleHeader, limits } from "@tendon/protocol";
import type { FastifyRequest } from "fastify";
import Type from "typebox";
import { plainAddress } from "../../addresses.ts";
import type { Actor } from "../../audit/audit.ts";
import type { Services } from "../services.ts";

export const DeviceParams = Type.Object({
  device: Type.String({ description: "The device's id (percent-encoded or not) or its alias" }),
});

export const IdempotencyHeaders = Type.Object({
  "idempotency-key": Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.idempotencyKeyLength.max,
      description: "A repeat with the same key within a day gets the first reply, and nothing runs again",
    }),
  ),
});

/** Who makes the request and from where, for the audit. */
export function actorOf({ principal, ip }: Pick<FastifyRequest, "principal" | "ip">): Actor {
  return { principal, from: plainAddress(ip) };
}

const longestClientName = 256;

/** Who made the request, for the call's trace. */
export function originOf({ consoleSession, headers, ip }: FastifyRequest): CallOrigin {
  const client = headers["user-agent"]?.slice(0, longestClientName);
  const origin = { ...(client === undefined ? {} : { client }), address: plainAddress(ip) };
  if (consoleSession === undefined) return { via: "rest", ...origin };
  const mark = String(headers[consoleHeader] ?? "").slice(0, 64);
  if (mark === automaticRequest) return { via: "console", ...origin, automatic: true };
  return { via: "console", ...origin, request: mark };
}

interface KeyedRequest {
  readonly principal: FastifyRequest["principal"];
  readonly url: string;
  readonly body: unknown;
  readonly headers: { readonly "idempotency-key"?: string | undefined };
}

/** Runs the work once per key. With `keyed`, a disconnect of the client does not cancel it: the client may repeat the request. */
export function once<Answer>(
  services: Services,
  request: KeyedRequest,
  work: (keyed: boolean) => Promise<Answer>,
): Promise<Answer> {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return work(false);
  return services.idempotency.run(request.principal, key, [request.url, request.body], () => work(true));
}

/** Carries an answer out of `idempotency.run` as an error, so that it is not stored: nothing reached a device [CALL-7]. */
class NeverSent<Answer> extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super("nothing was sent");
    this.answer = answer;
  }
}

/** Like `once`, for work that returns its failures. A failure before anything was sent is not stored, so a repeat runs again. */
export async function onceSent<Answer>(
  services: Services,
  request: KeyedRequest,
  work: (keyed: boolean) => Promise<Answer>,
  wasSent: (answer: Answer) => boolean,
): Promise<Answer> {
  try {
    return await once(services, request, async (keyed) => {
      const answer = await work(keyed);
      if (!wasSent(answer)) throw new NeverSent(answer);
      return answer;
    });
  } catch (error) {
    // Safe: only the work above throws it, with its own answer.
    if (error instanceof NeverSent) return error.answer as Answer;
    throw error;
  }
}
