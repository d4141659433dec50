/**
 * A device's MCP server as JSON-RPC over one POST. Lists and calls take the same path as in every other interface. The
 * gateway answers `initialize` from its record of the device. Other methods and notifications need `admin`.
 */
import { isObject, RpcReplyBody, RpcRequestBody } from "@tendon/protocol";
import Type from "typebox";
import type { Principal } from "../../access/access.ts";
import type { CallOptions } from "../../calls/calls.ts";
import { jsonRpcErrorOf, messageOf, TendonError } from "../../errors.ts";
import { failures, type Http } from "../http/http.ts";
import type { Services } from "../services.ts";
import { ClientDisconnect } from "./client-disconnect.ts";
import { DeviceParams, originOf } from "./route-parts.ts";

const NoBody = Type.Unsafe<undefined>({ type: "null", description: "Sent" });

/** Sent if the device has not answered `initialize` yet. */
const fallbackProtocolVersion = "2024-11-05";

export function rpcRoutes(http: Http, services: Services): void {
  http.post(
    "/devices/:device/mcp",
    {
      preValidation: (request, _reply, next) => {
        request.body = withoutEnvelope(request.body) as RpcRequestBody;
        next();
      },
      schema: {
        operationId: "sendMcpMessage",
        summary: "One JSON-RPC message to a device's MCP server",
        description:
          "The reply carries the caller's own id. Errors are JSON-RPC errors with Tendon's code in `data`. If the device " +
          "itself sent an error with a code, `error.code` is that code, and `data` also has the fields of the device's data. " +
          "A `notifications/…` message without an id is sent at once and answered with 202. A whole envelope with " +
          "`session_id`, `type` and `payload` counts as its payload.",
        tags: ["tools"],
        params: DeviceParams,
        body: RpcRequestBody,
        response: { 200: RpcReplyBody, 202: NoBody, ...failures },
      },
    },
    async (request, reply) => {
      const { device } = request.params;
      const { principal, body } = request;
      // Looked up first, so that an unknown device is a 404, as in every other route.
      services.fleet.find(principal, device);
      checkId(body);
      if (body.id === undefined) {
        await services.calls.notify(principal, device, body.method, body.params, {});
        return await reply.code(202).send(undefined);
      }
      const { id } = body;
      try {
        const signal = new ClientDisconnect(reply);
        const options = { signal, origin: originOf(request) };
        const result = await answer(services, principal, device, body, options);
        return await reply.send({ jsonrpc: "2.0", id, result });
      } catch (error) {
        if (!(error instanceof TendonError)) throw error;
        return await reply.send({ jsonrpc: "2.0", id, error: rpcErrorOf(error) });
      }
    },
  );
}

/** The payload of a whole envelope, as a board receives it. Any other body stays as it is. */
function withoutEnvelope(body: unknown): unknown {
  return isObject(body) && body["type"] === "mcp" && body["jsonrpc"] === undefined ? body["payload"] : body;
}

/** A request without an id would reach the device past the history; the firmware never answers a notification. */
function checkId({ id, method }: RpcRequestBody): void {
  const isNotification = method.startsWith("notifications/");
  if (id === undefined && !isNotification)
    throw new TendonError(
      "bad_request",
      `\`${method}\` needs an \`id\`: only \`notifications/…\` may be sent without one`,
    );
  if (id !== undefined && isNotification)
    throw new TendonError("bad_request", `\`${method}\` is a notification: send it without an \`id\``);
}

/** The code and data of the device's own error come first; Tendon's fields beside them tell where the error is from. */
function rpcErrorOf(error: TendonError): NonNullable<RpcReplyBody["error"]> {
  const { kind, code, context } = error;
  const own = jsonRpcErrorOf(context["deviceError"]);
  return {
    code: own?.code ?? kind.rpcCode,
    message: messageOf(error),
    data: { ...(isObject(own?.data) ? own.data : {}), code, retryable: kind.retryable, ...context },
  };
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
