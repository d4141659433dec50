import { NewToken, TokenList, TokenRequest } from "@tendon/protocol";
import Type from "typebox";
import { failures, type Http } from "../http/http.ts";
import type { RestDependencies } from "./rest.ts";
import { actorOf } from "./route-parts.ts";

export function tokenRoutes(http: Http, { tokens, audit }: Pick<RestDependencies, "tokens" | "audit">): void {
  http.get(
    "/tokens",
    {
      schema: {
        operationId: "listTokens",
        summary: "All tokens, without their secrets",
        description:
          "Needs `admin` for all devices. Each with who created it, when it was last used, and the addresses of both.",
        tags: ["tokens"],
        response: { 200: TokenList, ...failures },
      },
    },
    async (request) => ({ tokens: await tokens.list(request.principal) }),
  );
  http.post(
    "/tokens",
    {
      schema: {
        operationId: "createToken",
        summary: "Create a token; only this reply shows it",
        description:
          "Needs `admin` for all devices. A name that a token has which is neither revoked nor expired is a `conflict`. `devices` limits it to devices by id or by tag: a tag includes devices that get it later.",
        tags: ["tokens"],
        body: TokenRequest,
        response: { 201: NewToken, ...failures },
      },
    },
    async (request, reply) => {
      const actor = actorOf(request);
      const made = await tokens.create(request.principal, request.body, actor.from);
      const target = { type: "token", id: made.id, name: made.name };
      const { name: _name, ...given } = request.body;
      await audit.record(actor, "token.create", target, given);
      reply.code(201);
      return made;
    },
  );
  http.delete(
    "/tokens/:id",
    {
      schema: {
        operationId: "revokeToken",
        summary: "Revoke a token and close its connections",
        tags: ["tokens"],
        params: Type.Object({ id: Type.String({ maxLength: 64 }) }),
        response: { 204: Type.Null(), ...failures },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      await tokens.revoke(request.principal, id);
      await audit.record(actorOf(request), "token.revoke", { type: "token", id, name: tokens.nameOf(id) });
      await reply.code(204).send(null);
    },
  );
}
