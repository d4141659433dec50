import {
  ApproveRequest,
  Decided,
  ImportReply,
  ImportRequest,
  PendingList,
  Provisioned,
  ProvisionRequest,
} from "@tendon/protocol";
import { sourceOf } from "../../access/access.ts";
import type { Http } from "../http/http.ts";
import type { RestDependencies } from "./rest.ts";
import { DeviceParams, failures } from "./route-parts.ts";

/** Provisioning and admission. Every route needs `provision`; changing a provisioned device needs `admin`. */
export function provisioningRoutes(http: Http, { provisioning, settingsOf }: RestDependencies): void {
  const { decisions, imports } = provisioning;
  http.get(
    "/devices/pending",
    {
      schema: {
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
        summary: "Approve a board by its activation code",
        description:
          "If another board has the same Device-Id, its credentials are revoked, it is disconnected, and `replaced` is true.",
        tags: ["devices"],
        body: ApproveRequest,
        response: { 200: Decided, ...failures },
      },
    },
    (request) => decisions.approveCode(request.principal, request.body.code, sourceOf(request.ip)),
  );
  http.post(
    "/devices/:device/approve",
    {
      schema: {
        summary: "Approve a waiting board by its id",
        tags: ["devices"],
        params: DeviceParams,
        response: { 200: Decided, ...failures },
      },
    },
    (request) => decisions.approveDevice(request.principal, request.params.device),
  );
  http.post(
    "/devices/:device/revoke",
    {
      schema: {
        summary: "Revoke a device's credentials and disconnect it",
        tags: ["devices"],
        params: DeviceParams,
        response: { 200: Decided, ...failures },
      },
    },
    (request) => decisions.revoke(request.principal, request.params.device),
  );
  http.post(
    "/devices/provision",
    {
      schema: {
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
      reply.code(201);
      return { id: made.deviceId, ...settingsOf(made) };
    },
  );
  http.post(
    "/devices/import",
    {
      schema: {
        summary: "Import devices, which are then admitted without approval",
        description: "Imports all rows or none. A row replaces an earlier one of the same device.",
        tags: ["devices"],
        body: ImportRequest,
        response: { 200: ImportReply, ...failures },
      },
    },
    (request) => imports.add(request.principal, request.body.devices),
  );
}
