import {
  type AuditAction,
  DeviceChange,
  DeviceDetail,
  DeviceList,
  DeviceQuery,
  type JsonObject,
  NamedTools,
  ToolList,
  ToolsQuery,
} from "@tendon/protocol";
import Type from "typebox";
import { hasScope, type Principal } from "../../access/access.ts";
import { failures, type Http } from "../http/http.ts";
import type { Services } from "../services.ts";
import type { RestDependencies } from "./rest.ts";
import { actorOf, DeviceParams } from "./route-parts.ts";

export function deviceRoutes(
  http: Http,
  { services, provisioning, audit, eraseHistory, httpDevices }: RestDependencies,
): void {
  http.get(
    "/devices",
    {
      schema: {
        operationId: "listDevices",
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
        operationId: "getDevice",
        summary: "One device, with its last status and the reason of its last disconnect",
        tags: ["devices"],
        params: DeviceParams,
        response: { 200: DeviceDetail, ...failures },
      },
    },
    async (request) => {
      const detail = await services.fleet.inspect(request.principal, request.params.device);
      const server = detail.kind === "http" ? await httpDevices.view(detail.id) : undefined;
      return { ...detail, ...(server === undefined ? {} : { server }) };
    },
  );
  http.patch(
    "/devices/:device",
    {
      schema: {
        operationId: "changeDevice",
        summary: "Change a device's alias, its tags, or the transport it is configured to use",
        tags: ["devices"],
        params: DeviceParams,
        body: DeviceChange,
        response: { 200: DeviceDetail, ...failures },
      },
    },
    async (request) => {
      const { principal, params, body } = request;
      const before = services.fleet.device(principal, params.device);
      const after = await services.fleet.admin.change(principal, params.device, body);
      const target = { type: "device", id: after.id, name: after.alias };
      const record = (action: AuditAction, detail: JsonObject) =>
        audit.record(actorOf(request), action, target, detail);
      if (body.alias !== undefined) await record("device.rename", { from: before.alias, to: after.alias });
      if (body.tags !== undefined) await record("device.tag", { from: before.tags, to: after.tags });
      if (body.transport !== undefined) await record("device.transport", { to: body.transport });
      return after;
    },
  );
  http.delete(
    "/devices/:device",
    {
      schema: {
        operationId: "deleteDevice",
        summary: "Delete a device and its credentials",
        description:
          "The gateway disconnects the device and removes it from the list and from the pending devices. Its calls stay in the history, unless `history` is true: then its calls, events, photos, frames, approvals and stored answers are deleted too, and its serial number in calls that a voice agent made for it, on every node. The audit keeps what was done, without the names and tags of the device.",
        tags: ["devices"],
        params: DeviceParams,
        querystring: Type.Object({
          history: Type.Optional(Type.Boolean({ description: "Delete what is kept about the device too" })),
        }),
        response: { 204: Type.Null(), ...failures },
      },
    },
    async (request, reply) => {
      const { principal, params, query } = request;
      const { id, alias } = nameOf(services, principal, params.device);
      const { history = false } = query;
      const serial = history ? await provisioning.imports.serialOf(id) : undefined;
      try {
        if (services.fleet.visible(principal, id) && services.fleet.find(principal, id).kind === "http")
          await httpDevices.remove(principal, id);
        await provisioning.decisions.remove(principal, params.device);
      } catch (error) {
        // A device that was deleted before may still have calls, and names in the audit.
        const isKept = async () =>
          seesAll(principal) &&
          ((await hasCalls(services, principal, id)) || (await audit.namesDevice(principal, id)));
        if (!history || !(await isKept())) throw error;
      }
      if (history) await eraseHistory({ device: id, serial });
      const target = { type: "device", id, name: history ? id : alias };
      await audit.record(actorOf(request), "device.delete", target, history ? { history } : undefined);
      await reply.code(204).send(null);
    },
  );
  http.get(
    "/devices/:device/tools",
    {
      schema: {
        operationId: "listTools",
        summary: "The tools of a device",
        tags: ["tools"],
        params: DeviceParams,
        querystring: Type.Object({
          user: Type.Optional(Type.Boolean({ description: "Include user-only tools" })),
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
        operationId: "findTools",
        summary: "Find tools of all devices by a part of their names",
        description:
          "Lists the tools that you may call, including user-only tools. Connected devices come first, then the others, most recently seen first.",
        tags: ["tools"],
        querystring: ToolsQuery,
        response: { 200: NamedTools, ...failures },
      },
    },
    (request) => services.fleet.finder.find(request.principal, request.query),
  );
}

/** A device that only waits or was imported has no alias: its id stands for both. */
function nameOf(services: Services, principal: Principal, reference: string): { id: string; alias: string } {
  const id = services.fleet.idOf(reference);
  if (!services.fleet.visible(principal, id)) return { id, alias: id };
  return { id, alias: services.fleet.device(principal, id).alias };
}

function seesAll(principal: Principal): boolean {
  return hasScope(principal, "admin") && principal.devices === undefined;
}

async function hasCalls(services: Services, principal: Principal, device: string): Promise<boolean> {
  const { calls } = await services.history.list(principal, { device, limit: 1 });
  return calls.length > 0;
}
