/** What a page asks for beside the REST of everybody: frames, the series of the overview, a device to play with. */
import { DemoDevice, FrameList, OverviewQuery, OverviewView, Problem } from "@tendon/protocol";
import Type from "typebox";
import { requireScope } from "../../access/access.ts";
import { isoTime } from "../../clock.ts";
import { TendonError } from "../../errors.ts";
import type { Http } from "../http/http.ts";
import type { Services } from "../services.ts";
import { withoutSecrets } from "./masking.ts";
import type { Overview } from "./overview.ts";

/** A frame as the device room keeps it. */
interface KeptFrame {
  readonly at: number;
  readonly way: "in" | "out";
  readonly length: number;
  readonly text: string;
}

export interface InsightNeeds {
  readonly services: Services;
  readonly overview: Overview;
  readonly frames: (device: string) => readonly KeptFrame[];
  /** Starts a virtual device beside the gateway; gives its id. Not there where nobody handed it in. */
  readonly startDemoDevice: (() => Promise<string>) | undefined;
}

const failures = { "4xx": Problem, "5xx": Problem };

export function insightRoutes(http: Http, needs: InsightNeeds): void {
  http.get(
    "/devices/:device/frames",
    {
      schema: {
        summary: "The last frames to and from a device, secrets masked",
        description:
          "Needs `admin`. Kept in memory by the node that holds the connection; cut where they are long.",
        tags: ["devices"],
        params: Type.Object({ device: Type.String() }),
        response: { 200: FrameList, ...failures },
      },
    },
    (request) => {
      const { id } = needs.services.fleet.device(request.principal, request.params.device);
      requireScope(request.principal, "admin");
      const frames = needs.frames(id).map(({ at, way, length, text }) => ({
        at: isoTime(at),
        way,
        length,
        text: withoutSecrets(text),
      }));
      return { frames };
    },
  );
  http.get(
    "/overview",
    {
      schema: {
        summary: "Devices, calls, failures and times over the last hours",
        description:
          "Calls from the history and from memory, `online` since the gateway started. Needs `read` for all devices.",
        tags: ["operations"],
        querystring: OverviewQuery,
        response: { 200: OverviewView, ...failures },
      },
    },
    async (request) => {
      requireScope(request.principal, "read");
      if (request.principal.devices !== undefined)
        throw new TendonError("forbidden", "the overview counts all devices; this token is limited to some");
      return await needs.overview.view(request.query.range ?? "1h");
    },
  );
  http.post(
    "/demo/devices",
    {
      schema: {
        summary: "Start a virtual device beside the gateway",
        description: "Only where `tendon serve` runs the gateway. Needs `admin`.",
        tags: ["devices"],
        response: { 201: DemoDevice, ...failures },
      },
    },
    async (request, reply) => {
      requireScope(request.principal, "admin");
      if (needs.startDemoDevice === undefined)
        throw new TendonError("not_found", "this gateway has no virtual devices to start");
      const id = await needs.startDemoDevice();
      reply.code(201);
      return { id };
    },
  );
}
