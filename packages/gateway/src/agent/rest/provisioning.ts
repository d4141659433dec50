import {
  ApproveRequest,
  type AuditAction,
  Decided,
  ImportList,
  ImportQuery,
  ImportReply,
  ImportRequest,
  PendingList,
  Provisioned,
  ProvisionRequest,
} from "@tendon/protocol";
import type { FastifyRequest } from "fastify";
import Type from "typebox";
import { sourceOf } from "../../access/access.ts";
import { failures, type Http } from "../http/http.ts";
import type { RestDependencies } from "./rest.ts";
import { actorOf, DeviceParams } from "./route-parts.ts";

/** An audit entry names this many devices of an import; its `importedAt` finds them all in the list. */
const idsInAudit = 5;

/** Provisioning and admission. Every route needs `provision`; changing a provisioned device needs `admin`. */
export function provisioningRoutes(http: Http, { provisioning, settingsOf, audit }: RestDependencies): void {
  const { decisions, imports } = provisioning;
  const decided = async (request: FastifyRequest, action: AuditAction, decision: Decided) => {
    const { id, alias, replaced } = decision;
    const target = { type: "device", id, name: alias };
    await audit.record(actorOf(request), action, target, replaced ? { replaced } : undefined);
    return decision;
  };
  http.get(
    "/devices/pending",
    {
      schema: {
        operationId: "listPendingDevices",
        summary: "Devices waiting for approval",
        description: "Newest first. Only the board shows its activation code.",
        tags: ["devices"],
        response: { 200: PendingList, ...failures },
      },
    },
    (request) => decisions.pending(request.principal),
  );
  http.post(
    "/devices/approve",
    {
      schema: {
        operationId: "approveCode",
        summary: "Approve a board by its activation code",
        description:
          "If another board has the same Device-Id, its credentials are revoked, it is disconnected, and `replaced` is true.",
        tags: ["devices"],
        body: ApproveRequest,
        response: { 200: Decided, ...failures },
      },
    },
    async (request) => {
      const { principal, body, ip } = request;
      return await decided(
        request,
        "device.approve",
        await decisions.approveCode(principal, body.code, sourceOf(ip)),
      );
    },
  );
  http.post(
    "/devices/:device/approve",
    {
      schema: {
        operationId: "approveDevice",
        summary: "Approve a waiting board by its id",
        tags: ["devices"],
        params: DeviceParams,
        response: { 200: Decided, ...failures },
      },
    },
    async (request) => {
      const { principal, params } = request;
      return await decided(
        request,
        "device.approve",
        await decisions.approveDevice(principal, params.device),
      );
    },
  );
  http.post(
    "/devices/:device/revoke",
    {
      schema: {
        operationId: "revokeDevice",
        summary: "Revoke a device's credentials and disconnect it",
        tags: ["devices"],
        params: DeviceParams,
        response: { 200: Decided, ...failures },
      },
    },
    async (request) => {
      const { principal, params } = request;
      return await decided(request, "device.revoke", await decisions.revoke(principal, params.device));
    },
  );
  http.post(
    "/devices/provision",
    {
      schema: {
        operationId: "provisionDevice",
        summary: "Create credentials for a device before it connects",
        description:
          "Needs `provision`. If the device has credentials under another Client-Id, they are revoked; this needs `admin`.",
        tags: ["devices"],
        body: ProvisionRequest,
        response: { 201: Provisioned, ...failures },
      },
    },
    async (request, reply) => {
      const { id, clientId } = request.body;
      const made = await decisions.provision(request.principal, id, clientId);
      const target = { type: "device", id: made.deviceId, name: made.deviceId };
      await audit.record(actorOf(request), "device.provision", target);
      reply.code(201);
      return { id: made.deviceId, ...settingsOf(made) };
    },
  );
  http.post(
    "/devices/import",
    {
      schema: {
        operationId: "importDevices",
        summary: "Import devices, which are then admitted without approval",
        description: "Imports all rows or none. A row replaces an earlier one of the same device.",
        tags: ["devices"],
        body: ImportRequest,
        response: { 200: ImportReply, ...failures },
      },
    },
    async (request) => {
      const { imported, total, ids, importedAt } = await imports.add(request.principal, request.body.devices);
      const [id = ""] = ids;
      const one = ids.length === 1;
      const target = { type: "device", id: one ? id : "", name: one ? id : `${ids.length} devices` };
      const detail = { devices: ids.length, first: ids.slice(0, idsInAudit), importedAt };
      await audit.record(actorOf(request), "device.import", target, detail);
      return { imported, total };
    },
  );
  http.get(
    "/imports",
    {
      schema: {
        operationId: "listImports",
        summary: "The imported devices, whether they have connected or not",
        description: "Needs `provision`. Never shows a key.",
        tags: ["devices"],
        querystring: ImportQuery,
        response: { 200: ImportList, ...failures },
      },
    },
    (request) => imports.list(request.principal, request.query),
  );
  http.delete(
    "/imports/:device",
    {
      schema: {
        operationId: "deleteImport",
        summary: "Remove a device from the imported list",
        description:
          "Needs `provision`. The list no longer admits the device. A device that has credentials keeps them; delete or revoke it to take them away.",
        tags: ["devices"],
        params: Type.Object({ device: Type.String({ description: "The id of the device" }) }),
        response: { 204: Type.Null(), ...failures },
      },
    },
    async (request, reply) => {
      const id = await imports.remove(request.principal, request.params.device);
      await audit.record(actorOf(request), "device.unimport", { type: "device", id, name: id });
      await reply.code(204).send(null);
    },
  );
}
