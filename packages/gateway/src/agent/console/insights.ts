/** Routes for the console: frames, the overview's time series, and a demo device. */
import { DemoDevice, FrameList, FrameQuery, OverviewQuery, OverviewView } from "@tendon/protocol";
import Type from "typebox";
import { requireEveryDevice, requireScope } from "../../access/access.ts";
import { isoTime } from "../../clock.ts";
import { TendonError } from "../../errors.ts";
import { withoutSecrets } from "../../secret-masking.ts";
import { failures, type Http } from "../http/http.ts";
import type { Services } from "../services.ts";
import type { Overview } from "./overview.ts";

/** A frame as the device module keeps it. */
interface LoggedFrame {
  readonly at: number;
  readonly way: "in" | "out";
  readonly length: number;
  readonly text: string;
  readonly callId: string | undefined;
  readonly notUnderstood?: string;
}

export interface InsightDependencies {
  readonly services: Services;
  readonly overview: Overview;
  readonly frames: (device: string) => Promise<readonly LoggedFrame[]>;
  /** Starts a virtual device and returns its id; `undefined` if the gateway's host program offers none. */
  readonly startDemoDevice: (() => Promise<string>) | undefined;
}

export function insightRoutes(http: Http, dependencies: InsightDependencies): void {
  http.get(
    "/devices/:device/frames",
    {
      schema: {
        operationId: "listFrames",
        summary: "The last frames to and from a device, with secrets masked",
        description:
          "Needs `admin`. The nodes that held the connection keep the frames in memory and shorten long ones.",
        tags: ["devices"],
        params: Type.Object({ device: Type.String() }),
        querystring: FrameQuery,
        response: { 200: FrameList, ...failures },
      },
    },
    async (request) => {
      const { id } = dependencies.services.fleet.device(request.principal, request.params.device);
      requireScope(request.principal, "admin");
      const { call } = request.query;
      const all = await dependencies.frames(id);
      const wanted = all.filter(({ callId }) => call === undefined || callId === call);
      const frames = wanted.map(({ at, way, length, text, callId, notUnderstood }) => ({
        at: isoTime(at),
        way,
        length,
        text: withoutSecrets(text),
        ...(callId === undefined ? {} : { callId }),
        ...(notUnderstood === undefined ? {} : { notUnderstood }),
      }));
      return { frames };
    },
  );
  http.get(
    "/overview",
    {
      schema: {
        operationId: "getOverview",
        summary: "Online devices, calls, failures and durations over the last hours",
        description:
          "Calls include those before the last start; `online` begins with the last start. Needs `read` for all devices.",
        tags: ["operations"],
        querystring: OverviewQuery,
        response: { 200: OverviewView, ...failures },
      },
    },
    async (request) => {
      requireScope(request.principal, "read");
      requireEveryDevice(request.principal, "the overview");
      return await dependencies.overview.view(request.query.range ?? "1h");
    },
  );
  http.post(
    "/demo/devices",
    {
      schema: {
        operationId: "startDemoDevice",
        summary: "Start a virtual device",
        description: "Needs `admin`. Available if `tendon serve` runs the gateway.",
        tags: ["devices"],
        response: { 201: DemoDevice, ...failures },
      },
    },
    async (request, reply) => {
      requireScope(request.principal, "admin");
      if (dependencies.startDemoDevice === undefined)
        throw new TendonError(
          "not_found",
          "only a gateway that `tendon serve` runs can start virtual devices",
        );
      const id = await dependencies.startDemoDevice();
      reply.code(201);
      return { id };
    },
  );
}
