/** What several routes share. */
import { limits, Problem } from "@tendon/protocol";
import type { FastifyRequest } from "fastify";
import Type from "typebox";
import type { Services } from "../services.ts";

/** What every route may answer with instead of its success. */
export const failures = { "4xx": Problem, "5xx": Problem };

export const DeviceParams = Type.Object({
  device: Type.String({ description: "The device's id (percent-encoded or not) or its alias" }),
});

export const IdempotencyHeaders = Type.Object({
  "idempotency-key": Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.idempotencyKeyLength.max,
      description: "A repeat under the same key within a day gets the first answer and runs nothing again",
    }),
  ),
});

interface KeyedRequest {
  readonly principal: FastifyRequest["principal"];
  readonly url: string;
  readonly body: unknown;
  readonly headers: { readonly "idempotency-key"?: string | undefined };
}

/** Runs the work once per key. `keyed`: its caller may come back for the answer, so hanging up does not stop it. */
export function once<Answer>(
  services: Services,
  request: KeyedRequest,
  work: (keyed: boolean) => Promise<Answer>,
): Promise<Answer> {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return work(false);
  return services.idempotency.run(request.principal, key, [request.url, request.body], () => work(true));
}

/** Takes the answer of work that never reached a device past the keys, which forget it then [CALL-7]. */
class NeverSent<Answer> extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super("nothing was sent");
    this.answer = answer;
  }
}

/** The same for work whose failures are answers: those of which nothing was sent can be tried again. */
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
    // Safe: it was thrown by the work under this key, whose answer this is.
    if (error instanceof NeverSent) return error.answer as Answer;
    throw error;
  }
}
