/**
 * A device's MCP server as JSON-RPC over one POST. Lists and calls take the same path as in every other interface. The
 * gateway answers `initialize` from its record of the device. Other methods need `admin`.
 */
import { isObject, RpcReplyBody, RpcRequestBody } from "@tendon/protocol";
import type { Principal } from "../../access/access.ts";
import type { CallOptions } from "../../calls/calls.ts";
import { messageOf, TendonError } from "../../errors.ts";
import type { Http } from "../http/http.ts";
import type { Services } from "../services.ts";
import { ClientDisconnect } from "./client-disconnect.ts";
import { DeviceParams, failures } from "./route-parts.ts";

/** Sent if the device has not answered `initialize` yet. */
const fallbackProtocolVersion = "2024-11-05";

export function rpcRoutes(http: Http, services: Services): void {
  http.post(
    "/devices/:device/mcp",
    {
      schema: {
        summary: "One JSON-RPC request to a device's MCP server",
        description:
          "The reply carries the caller's own id. Errors are JSON-RPC errors with Tendon's code in `data`.",
        tags: ["tools"],
        params: DeviceParams,
        body: RpcRequestBody,
        response: { 200: RpcReplyBody, ...failures },
      },
    },
    async (request, reply): Promise<RpcReplyBody> => {
      const { device } = request.params;
      // Looked up first, so that an unknown device is a 404, as in every other route.
      services.fleet.find(request.principal, device);
      const id = request.body.id ?? null;
      try {
        const result = await answer(services, request.principal, device, request.body, {
          signal: new ClientDisconnect(reply),
        });
        return { jsonrpc: "2.0", id, result };
      } catch (error) {
        if (!(error instanceof TendonError)) throw error;
        const { kind, code, context } = error;
        return {
          jsonrpc: "2.0",
          id,
          error: { code: kind.rpcCode, message: messageOf(error), data: { code, ...context } },
        };
      }
    },
  );
}

async function answer(
  services: Services,
  principal: Principal,
  device: string,
  rpc: RpcRequestBody,
  options: CallOptions,
): Promise<unknown> {
  const params = rpc.params ?? {};
  switch (rpc.method) {
    case "initialize": {
      const { board, firmware, protocolVersion } = services.fleet.device(principal, device);
      return {
        protocolVersion: protocolVersion ?? fallbackProtocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: board ?? "unknown", version: firmware ?? "unknown" },
      };
    }
    case "tools/list": {
      const { tools } = await services.fleet.tools(principal, device, params["withUserTools"] === true);
      return {
        tools: tools.map(({ name, description, inputSchema, outputSchema, audience }) => ({
          name,
          description,
          inputSchema,
          ...(outputSchema === undefined ? {} : { outputSchema }),
          ...(audience === "user" ? { annotations: { audience: ["user"] } } : {}),
        })),
      };
    }
    case "tools/call": {
      const { name, arguments: args = {} } = params;
      if (typeof name !== "string")
        throw new TendonError("bad_request", "params.name must be the name of a tool");
      if (!isObject(args)) throw new TendonError("bad_request", "params.arguments must be an object");
      return (await services.calls.call(principal, device, name, args, options)).result;
    }
    default:
      return (await services.calls.request(principal, device, rpc.method, rpc.params, options)).result;
  }
}
