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
import type { RestNeeds } from "./rest.ts";
import { DeviceParams, failures } from "./route-parts.ts";

/** Who comes in. All of it needs `provision`; what touches a device that is here needs `admin`. */
export function provisioningRoutes(http: Http, { provisioning, settingsOf }: RestNeeds): void {
  const { decisions, imports } = provisioning;
  http.get(
    "/devices/pending",
    {
      schema: {
        summary: "Boards that show a code and wait",
        description: "Newest first. The code itself is on the board only.",
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
        summary: "Let a board in by the code it shows",
        description: "Another board of the same id is replaced and disconnected; `replaced` says so.",
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
        summary: "Let a board in by its id, where one waits under it",
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
        summary: "Take a device's credentials away and disconnect it",
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
        summary: "Make credentials for a device before it connects",
        description:
          "Needs the scope `provision`. Another Client-Id of the same device no longer counts, which needs `admin`.",
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
        summary: "Put devices on the list of those that are let in when they come",
        description: "All rows or none; a device that is on the list already is written over.",
        tags: ["devices"],
        body: ImportRequest,
        response: { 200: ImportReply, ...failures },
      },
    },
    (request) => imports.add(request.principal, request.body.devices),
  );
}
