import {
  DeviceChange,
  DeviceDetail,
  DeviceList,
  DeviceQuery,
  NamedTools,
  ToolList,
  ToolsQuery,
} from "@tendon/protocol";
import Type from "typebox";
import type { Http } from "../http/http.ts";
import type { RestNeeds } from "./rest.ts";
import { DeviceParams, failures } from "./route-parts.ts";

export function deviceRoutes(http: Http, { services, provisioning }: RestNeeds): void {
  http.get(
    "/devices",
    {
      schema: {
        summary: "Devices, connected or not",
        tags: ["devices"],
        querystring: DeviceQuery,
        response: { 200: DeviceList, ...failures },
      },
    },
    (request) => services.fleet.list(request.principal, request.query),
  );
  http.get(
    "/devices/:device",
    {
      schema: {
        summary: "One device, with its last status and why it last left",
        tags: ["devices"],
        params: DeviceParams,
        response: { 200: DeviceDetail, ...failures },
      },
    },
    (request) => services.fleet.inspect(request.principal, request.params.device),
  );
  http.patch(
    "/devices/:device",
    {
      schema: {
        summary: "Give a device another alias, tags, or the transport it is told to use",
        tags: ["devices"],
        params: DeviceParams,
        body: DeviceChange,
        response: { 200: DeviceDetail, ...failures },
      },
    },
    (request) => services.fleet.admin.change(request.principal, request.params.device, request.body),
  );
  http.delete(
    "/devices/:device",
    {
      schema: {
        summary: "Forget a device and its credentials",
        description:
          "It is disconnected, no longer waits and is off the list. Its calls stay in the history.",
        tags: ["devices"],
        params: DeviceParams,
        response: { 204: Type.Null(), ...failures },
      },
    },
    async (request, reply) => {
      await provisioning.decisions.remove(request.principal, request.params.device);
      await reply.code(204).send(null);
    },
  );
  http.get(
    "/devices/:device/tools",
    {
      schema: {
        summary: "What a device can do",
        tags: ["tools"],
        params: DeviceParams,
        querystring: Type.Object({
          user: Type.Optional(Type.Boolean({ description: "Also the tools that are for people only" })),
        }),
        response: { 200: ToolList, ...failures },
      },
    },
    (request) => services.fleet.tools(request.principal, request.params.device, request.query.user === true),
  );
  http.get(
    "/tools",
    {
      schema: {
        summary: "Tools of all devices by a few letters of their names",
        description:
          "What you may call, tools for people only among it; devices that are here first, then those seen last.",
        tags: ["tools"],
        querystring: ToolsQuery,
        response: { 200: NamedTools, ...failures },
      },
    },
    (request) => services.fleet.finder.find(request.principal, request.query),
  );
}
