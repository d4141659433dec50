import { NodeList } from "@tendon/protocol";
import { requireScope } from "../../access/access.ts";
import type { Http } from "../http/http.ts";
import { failures } from "./route-parts.ts";

export function nodeRoutes(http: Http, nodes: () => NodeList): void {
  http.get(
    "/nodes",
    {
      schema: {
        summary: "The nodes of this gateway, and the engines they stand on",
        tags: ["operations"],
        response: { 200: NodeList, ...failures },
      },
    },
    (request) => {
      requireScope(request.principal, "read");
      return nodes();
    },
  );
}
