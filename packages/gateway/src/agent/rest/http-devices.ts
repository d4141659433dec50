import { DeviceDetail, HttpDeviceRequest } from "@tendon/protocol";
import { failures, type Http } from "../http/http.ts";
import type { RestDependencies } from "./rest.ts";
import { actorOf } from "./route-parts.ts";

export function httpDeviceRoutes(http: Http, { services, httpDevices, audit }: RestDependencies): void {
  http.post(
    "/devices/http",
    {
      schema: {
        operationId: "addHttpDevice",
        summary: "Add an MCP server over Streamable HTTP as a device",
        description:
          "Needs `admin` for all devices. The gateway connects in the background; the device is online while the server answers. Redirects are failures, and link-local and metadata addresses are refused. `DELETE /devices/{device}` removes it.",
        tags: ["devices"],
        body: HttpDeviceRequest,
        response: { 201: DeviceDetail, ...failures },
      },
    },
    async (request, reply) => {
      const { alias, url } = request.body;
      await httpDevices.add(request.principal, request.body);
      const target = { type: "device", id: alias, name: alias };
      await audit.record(actorOf(request), "device.add", target, { host: new URL(url).host });
      reply.code(201);
      const server = await httpDevices.view(alias);
      return {
        ...services.fleet.device(request.principal, alias),
        ...(server === undefined ? {} : { server }),
      };
    },
  );
}
