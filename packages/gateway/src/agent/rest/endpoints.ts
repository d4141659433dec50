import { EndpointList } from "@tendon/protocol";
import { failures, type Http } from "../http/http.ts";
import type { RestDependencies } from "./rest.ts";

export function endpointRoutes(http: Http, { endpoints }: Pick<RestDependencies, "endpoints">): void {
  http.get(
    "/endpoints",
    {
      schema: {
        operationId: "listEndpoints",
        summary: "The MCP endpoints of voice agents, with their states",
        description:
          "Needs `admin` for all devices. The outgoing endpoints of `agents.endpoints`, and the connections to this gateway's own endpoint. Addresses are never shown.",
        tags: ["agents"],
        response: { 200: EndpointList, ...failures },
      },
    },
    async (request) => await endpoints.list(request.principal),
  );
}
