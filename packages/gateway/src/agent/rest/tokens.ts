import { NewToken, TokenList, TokenRequest } from "@tendon/protocol";
import Type from "typebox";
import type { Tokens } from "../../access/access.ts";
import type { Http } from "../http/http.ts";
import { failures } from "./route-parts.ts";

export function tokenRoutes(http: Http, tokens: Tokens): void {
  http.get(
    "/tokens",
    {
      schema: {
        summary: "Tokens, without themselves",
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
        summary: "Make a token; it is shown this once",
        tags: ["tokens"],
        body: TokenRequest,
        response: { 201: NewToken, ...failures },
      },
    },
    async (request, reply) => {
      const made = await tokens.create(request.principal, request.body);
      reply.code(201);
      return made;
    },
  );
  http.delete(
    "/tokens/:id",
    {
      schema: {
        summary: "Revoke a token; what it has open is closed",
        tags: ["tokens"],
        params: Type.Object({ id: Type.String({ maxLength: 64 }) }),
        response: { 204: Type.Null(), ...failures },
      },
    },
    async (request, reply) => {
      await tokens.revoke(request.principal, request.params.id);
      await reply.code(204).send(null);
    },
  );
}
