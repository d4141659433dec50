/** What several routes share. */
import { limits, Problem } from "@tendon/protocol";
import type { FastifyRequest } from "fastify";
import Type from "typebox";
import type { Registry } from "../../registry/registry.ts";

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
  registry: Registry,
  request: KeyedRequest,
  work: (keyed: boolean) => Promise<Answer>,
): Promise<Answer> {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return work(false);
  return registry.idempotency.run(request.principal, key, [request.url, request.body], () => work(true));
}
