import { ControlRequest, ControlResponse, decodeControl, isErrorCode } from "@tendon/protocol";
import { errorKinds, TendonError } from "../../errors.ts";
import type { Registry } from "../../registry/registry.ts";
import type { Http } from "../http.ts";
import { hangUpSignal } from "./hang-up.ts";
import { DeviceParams, IdempotencyHeaders, once } from "./route-parts.ts";

export function controlRoutes(http: Http, registry: Registry): void {
  http.post(
    "/devices/:device/control",
    {
      schema: {
        summary: "device_control: an action or a function call, always answered",
        description:
          "Success is a 200. A failure is the same body with `ok: false`, `code`, `title` and `detail`, under that code's status.",
        tags: ["control"],
        params: DeviceParams,
        headers: IdempotencyHeaders,
        body: ControlRequest,
        response: { 200: ControlResponse, "4xx": ControlResponse, "5xx": ControlResponse },
      },
    },
    async (request, reply) => {
      const decoded = decodeControl(request.body);
      if (decoded.outcome !== "ok") {
        throw new TendonError(
          "bad_request",
          decoded.outcome === "invalid" ? decoded.reason : "not understood",
        );
      }
      const answer = await once(registry, request, (keyed) =>
        registry.control.run(
          request.principal,
          request.params.device,
          decoded.message,
          keyed ? undefined : hangUpSignal(reply),
        ),
      );
      if (answer.code !== undefined && isErrorCode(answer.code)) reply.code(errorKinds[answer.code].status);
      return answer;
    },
  );
}
