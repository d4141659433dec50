import {
  DeliveryList,
  DeliveryQuery,
  NewWebhook,
  ReplayRequest,
  ReplayResult,
  WebhookChange,
  WebhookList,
  WebhookRequest,
  WebhookTestResult,
  WebhookView,
} from "@tendon/protocol";
import Type from "typebox";
import { failures, type Http } from "../http/http.ts";
import type { RestDependencies } from "./rest.ts";
import { actorOf } from "./route-parts.ts";

const tags = ["webhooks"];
const WebhookParams = Type.Object({ id: Type.String({ maxLength: 64 }) });

export function webhookRoutes(
  http: Http,
  { webhooks, audit }: Pick<RestDependencies, "webhooks" | "audit">,
): void {
  http.get(
    "/webhooks",
    {
      schema: {
        operationId: "listWebhooks",
        summary: "All webhooks, without their secrets",
        description: "Needs `admin` for all devices.",
        tags,
        response: { 200: WebhookList, ...failures },
      },
    },
    async (request) => ({ webhooks: await webhooks.list(request.principal) }),
  );
  http.post(
    "/webhooks",
    {
      schema: {
        operationId: "createWebhook",
        summary: "Create a webhook; only this reply shows its secret",
        description:
          "Needs `admin` for all devices. Events from now on are delivered at least once, and in order per device, signed as Standard Webhooks 1.0.",
        tags,
        body: WebhookRequest,
        response: { 201: NewWebhook, ...failures },
      },
    },
    async (request, reply) => {
      const made = await webhooks.create(request.principal, request.body);
      await audit.record(actorOf(request), "webhook.create", targetOf(made), detailOf(made));
      reply.code(201);
      return made;
    },
  );
  http.get(
    "/webhooks/:id",
    {
      schema: {
        operationId: "getWebhook",
        summary: "One webhook, with the state of its receiver",
        tags,
        params: WebhookParams,
        response: { 200: WebhookView, ...failures },
      },
    },
    async (request) => await webhooks.get(request.principal, request.params.id),
  );
  http.patch(
    "/webhooks/:id",
    {
      schema: {
        operationId: "changeWebhook",
        summary: "Change a webhook, disable it, or enable it again at its stored position",
        tags,
        params: WebhookParams,
        body: WebhookChange,
        response: { 200: WebhookView, ...failures },
      },
    },
    async (request) => {
      const changed = await webhooks.change(request.principal, request.params.id, request.body);
      const { enabled } = request.body;
      const detail = { ...detailOf(changed), ...(enabled === undefined ? {} : { enabled }) };
      await audit.record(actorOf(request), "webhook.change", targetOf(changed), detail);
      return changed;
    },
  );
  http.delete(
    "/webhooks/:id",
    {
      schema: {
        operationId: "deleteWebhook",
        summary: "Delete a webhook and its pending events",
        tags,
        params: WebhookParams,
        response: { 204: Type.Null(), ...failures },
      },
    },
    async (request, reply) => {
      const removed = await webhooks.remove(request.principal, request.params.id);
      await audit.record(actorOf(request), "webhook.delete", targetOf(removed));
      await reply.code(204).send(null);
    },
  );
  http.post(
    "/webhooks/:id/test",
    {
      schema: {
        operationId: "testWebhook",
        summary: "Send a `webhook.test` to the receiver now, and return its answer",
        tags,
        params: WebhookParams,
        response: { 200: WebhookTestResult, ...failures },
      },
    },
    async (request) => {
      const { id } = request.params;
      const result = await webhooks.test(request.principal, id);
      const { name } = await webhooks.get(request.principal, id);
      await audit.record(actorOf(request), "webhook.test", targetOf({ id, name }), { ok: result.ok });
      return result;
    },
  );
  http.post(
    "/webhooks/:id/rotate",
    {
      schema: {
        operationId: "rotateWebhookSecret",
        summary: "Make a new secret; for 24 hours, both secrets sign",
        tags,
        params: WebhookParams,
        response: { 200: NewWebhook, ...failures },
      },
    },
    async (request) => {
      const rotated = await webhooks.rotate(request.principal, request.params.id);
      await audit.record(actorOf(request), "webhook.rotate", targetOf(rotated));
      return rotated;
    },
  );
  http.get(
    "/webhooks/:id/deliveries",
    {
      schema: {
        operationId: "listWebhookDeliveries",
        summary: "The events of a webhook, newest first, with the last attempt of each",
        description: "Delivered events are kept for 24 hours.",
        tags,
        params: WebhookParams,
        querystring: DeliveryQuery,
        response: { 200: DeliveryList, ...failures },
      },
    },
    async (request) => await webhooks.deliveries(request.principal, request.params.id, request.query),
  );
  http.post(
    "/webhooks/:id/replay",
    {
      schema: {
        operationId: "replayWebhook",
        summary: "Deliver the events since a time again, with the same `webhook-id`",
        tags,
        params: WebhookParams,
        body: ReplayRequest,
        response: { 200: ReplayResult, ...failures },
      },
    },
    async (request) => {
      const { id } = request.params;
      const { since } = request.body;
      const result = await webhooks.replay(request.principal, id, since);
      const { name } = await webhooks.get(request.principal, id);
      await audit.record(actorOf(request), "webhook.replay", targetOf({ id, name }), { since, ...result });
      return result;
    },
  );
}

function targetOf({ id, name }: Pick<WebhookView, "id" | "name">) {
  return { type: "webhook", id, name };
}

/** The host only: the rest of the address may be a secret of the receiver. */
function detailOf({ url, types, devices }: WebhookView) {
  return { host: new URL(url).host, types, ...(devices === undefined ? {} : { devices }) };
}
