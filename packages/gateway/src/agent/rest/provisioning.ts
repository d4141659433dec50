import {
  ApproveRequest,
  type AuditAction,
  Decided,
  ImportReply,
  ImportRequest,
  PendingList,
  Provisioned,
  ProvisionRequest,
} from "@tendon/protocol";
import type { FastifyRequest } from "fastify";
import { sourceOf } from "../../access/access.ts";
import { failures, type Http } from "../http/http.ts";
import type { RestDependencies } from "./rest.ts";
import { actorOf, DeviceParams } from "./route-parts.ts";

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
      const { devices } = request.body;
      const added = await imports.add(request.principal, devices);
      const name = devices.length === 1 ? (devices[0]?.id ?? "") : `${devices.length} devices`;
      await audit.record(actorOf(request), "device.import", { type: "device", id: "", name });
      return added;
    },
  );
}
