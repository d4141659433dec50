/** Server-Sent Events: live events, with resume [EVT-1…4]. */
import { EventQuery, eventTypes, type GatewayEvent, limits } from "@tendon/protocol";
import type { FastifyReply } from "fastify";
import Type from "typebox";
import { hasScope, requireScope, SharedPool } from "../../access/access.ts";
import { TendonError } from "../../errors.ts";
import type { Events, Missed } from "../../events/events.ts";
import { failures, type Http } from "../http/http.ts";
import type { Services } from "../services.ts";
import { EventWriter } from "./event-writer.ts";
import type { RestDependencies } from "./rest.ts";

const keepAliveMs = 15_000;
const catchUpBufferBytes = 64 * 1024;

const nothingMissed: Missed = { earlier: undefined, recent: [] };

type Wanted = (event: GatewayEvent) => boolean;

export function eventRoutes(http: Http, { events, services, tokens, console }: RestDependencies): void {
  const open = new Map<
    FastifyReply,
    { readonly principalId: string; readonly session: string | undefined }
  >();
  const places = new SharedPool(limits.eventStreams.max, "open event streams");
  const writer = new EventWriter();
  const end = ({ raw }: FastifyReply) => {
    writer.close(raw);
    raw.end();
  };
  tokens.onRevoked((tokenId) => {
    for (const [reply, { principalId }] of open) if (principalId === tokenId) end(reply);
  });
  console.authentication.sessions.onEnded((key) => {
    for (const [reply, { session }] of open) if (session === key) end(reply);
  });
  const keepAlive = setInterval(() => {
    for (const { raw } of open.keys()) writer.writeText(raw, ": keep-alive\n\n");
  }, keepAliveMs);
  keepAlive.unref();
  http.addHook("onClose", () => {
    clearInterval(keepAlive);
    for (const reply of open.keys()) end(reply);
  });
  http.get(
    "/events",
    {
      schema: {
        operationId: "streamEvents",
        summary: "Live events (Server-Sent Events)",
        description:
          "`Last-Event-ID` resumes after that event. If the gateway no longer has the events after it, it sends an event `reset`.",
        tags: ["events"],
        querystring: EventQuery,
        headers: Type.Object({ "last-event-id": Type.Optional(Type.String({ maxLength: 64 })) }),
        response: {
          200: {
            description: "Events, each with its id; `data` is an `Event` as JSON",
            content: { "text/event-stream": { schema: Type.String() } },
          },
          ...failures,
        },
      },
    },
    (request, reply) => {
      // A client with `provision` alone gets the events of pending devices, and no others.
      if (!hasScope(request.principal, "provision")) requireScope(request.principal, "read");
      const { principal } = request;
      const filter = readFilter(request.query, services);
      const leave = places.take(principal, request.ip);
      const wanted: Wanted = (event) => filter(event) && services.fleet.showsEvent(principal, event);
      reply.hijack();
      open.set(reply, { principalId: principal.id, session: request.consoleSession });
      const unsubscribe = stream(reply, writer, events, wanted, request.headers["last-event-id"]);
      reply.raw.once("close", () => {
        writer.close(reply.raw);
        leave();
        unsubscribe();
        open.delete(reply);
      });
    },
  );
}

function readFilter(query: { device?: string; type?: string }, services: Services): Wanted {
  const types = query.type?.split(",").map((type) => type.trim());
  const unknown = types?.find((type) => !eventTypes.some((known) => known === type));
  if (unknown !== undefined) {
    throw new TendonError(
      "bad_request",
      `no event has the type \`${unknown}\`; known are ${eventTypes.join(", ")}`,
    );
  }
  const only = query.device === undefined ? undefined : services.fleet.idOf(query.device);
  return ({ type, device }) =>
    (types === undefined || types.includes(type)) && (only === undefined || only === device);
}

function stream(
  reply: FastifyReply,
  writer: EventWriter,
  events: Events,
  wanted: Wanted,
  resumeFrom: string | undefined,
): () => void {
  const { raw } = reply;
  raw.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
    connection: "keep-alive",
  });
  raw.write(": tendon events\n\n");
  const reset = () => writer.writeText(raw, "event: reset\ndata: {}\n\n");
  // Missed events may be many megabytes. They are sent as fast as the client reads, and newer events queue behind them.
  let backlog: GatewayEvent[] = [];
  let at = 0;
  let waiting = false;
  const catchUp = () => {
    for (; at < backlog.length; at += 1) {
      const event = backlog[at];
      if (writer.unsentOf(raw) > catchUpBufferBytes) {
        writer.flush();
        raw.once("drain", catchUp);
        return;
      }
      if (event !== undefined) writer.write(raw, event);
    }
    backlog = [];
    at = 0;
  };
  const missed = resumeFrom === undefined || resumeFrom === "" ? nothingMissed : events.since(resumeFrom);
  if (missed === undefined) reset();
  backlog = (missed?.recent ?? []).filter(wanted);
  if (missed?.earlier === undefined) catchUp();
  else {
    waiting = true;
    const resume = (earlier: readonly GatewayEvent[] | undefined) => {
      waiting = false;
      if (earlier === undefined) reset();
      backlog = [...(earlier ?? []).filter(wanted), ...backlog];
      catchUp();
    };
    // If the event log cannot be read, the client gets a `reset` and the events in memory.
    missed.earlier().then(resume, () => resume(undefined));
  }
  return events.subscribe((event) => {
    if (!wanted(event)) return;
    const behind = backlog.length - at;
    // A client this far behind is disconnected; it can resume from the last event it has.
    if (behind > 3 * limits.eventsKept.max || writer.unsentOf(raw) > limits.eventStreamBufferBytes.max)
      raw.destroy();
    else if (waiting || behind > 0) backlog.push(event);
    else writer.write(raw, event);
  });
}
