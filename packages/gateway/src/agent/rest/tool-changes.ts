import { ToolAcceptance, ToolChanges } from "@tendon/protocol";
import Type from "typebox";
import { failures, type Http } from "../http/http.ts";
import type { RestDependencies } from "./rest.ts";
import { actorOf, DeviceParams } from "./route-parts.ts";

/** Drifted tools, and their acceptance by an operator [DRI-1…4]. */
export function toolChangeRoutes(http: Http, { services, audit }: RestDependencies): void {
  http.get(
    "/devices/:device/changes",
    {
      schema: {
        operationId: "listToolChanges",
        summary: "Tools of a device whose change is not accepted yet",
        tags: ["tools"],
        params: DeviceParams,
        response: { 200: ToolChanges, ...failures },
      },
    },
    (request) => services.fleet.drift.changes(request.principal, request.params.device),
  );
  http.post(
    "/devices/:device/tools/:tool/accept",
    {
      schema: {
        operationId: "acceptTool",
        summary: "Accept a tool as it is now",
        description:
          "Needs `admin`. The reply lists the remaining changes. If the tool has changed again since you read its digest, the reply is `conflict`: read the changes again.",
        tags: ["tools"],
        params: Type.Object({
          ...DeviceParams.properties,
          tool: Type.String({ description: "The tool's own name" }),
        }),
        body: ToolAcceptance,
        response: { 200: ToolChanges, ...failures },
      },
    },
    async (request) => {
      const { device, tool } = request.params;
      const { digest } = request.body;
      const left = await services.fleet.drift.accept(request.principal, device, tool, digest);
      const target = { type: "tool", id: services.fleet.idOf(device), name: tool };
      await audit.record(actorOf(request), "tool.accept", target, { digest });
      return left;
    },
  );
}
